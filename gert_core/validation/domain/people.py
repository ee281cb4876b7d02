"""Check the groups that the rules of a policy name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gert_core.documents.policy import PolicyModel
    from gert_core.documents.yaml import Document
    from gert_core.validation.domain.report import Report

_GROUP: Final = "group:"


def check_groups(report: Report, document: Document, policy: PolicyModel) -> None:
    """Warn about groups that only another policy could declare."""
    for number, rule in enumerate(policy.rules):
        for index, name in enumerate(rule.approvers or ()):
            group = name.removeprefix(_GROUP)
            if group == name or group in policy.groups:
                continue
            from gert_core.kit.nearest import nearest  # only mistakes need it

            near = nearest(group, policy.groups)
            report.add(
                "group-unknown",
                f"the group {group!r} is not declared here: runs are refused unless another policy declares it",
                document=document,
                path=("rules", number, "approvers", index),
                hint=f"did you mean `{_GROUP}{near}`?" if near else "declare it under `groups`",
            )


__all__ = ["check_groups"]
