"""Point at the place of a mistake that shows only when policies are combined: file, line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, ProjectError
from gert_core.governance.people import GROUP, id_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.documents.tree import Runbook
    from gert_core.governance.people import People
    from gert_core.governance.sources import Source

_HINT: Final = "runs are refused while a policy is invalid; correct it or remove it"


def refusal(message: str, sources: Sequence[Source], where: Sequence[str | int], hint: str = "") -> ProjectError:
    """Return the error about a place in the last of the sources that has it."""
    source = next((one for one in reversed(sources) if where and _has(one.document, where)), None)
    hint = f"{hint}; {_HINT}" if hint else _HINT
    if source is None or source.path is None:
        return ProjectError(message, kind=ErrorKind.POLICY, hint=hint)
    from gert_core.documents import yaml

    document = yaml.load(source.path)
    line, column = document.locate((*source.base, *where))
    return ProjectError(message, kind=ErrorKind.POLICY, file=document.file, line=line, column=column, hint=hint)


def check_groups(sources: Sequence[Source], people: People) -> None:
    """Refuse a group in the ``approvers`` of a rule that none of the policies of a run declares.

    Policies may declare groups for each other, so that only all of them together show it.
    """
    for source in sources:
        for rule in source.rules:
            for index, name in enumerate(rule.approvers):
                if (group := unknown_group(name, people)) is not None:
                    where = ("rules", rule.number - 1, "approvers", index)
                    message = (
                        f"rule {rule.number} of {source.title} names the group {group!r}, which no policy declares"
                    )
                    raise refusal(message, [source], where, group_hint(group, people.groups))


def check_gates(runbook: Runbook, people: People) -> None:
    """Refuse an approver that a step itself demands: an unknown group, or what cannot be a person's id."""
    for step in runbook.by_id.values():
        gate = runbook.functions.gate(step)
        for index, name in enumerate(() if gate is None else gate.approvers):
            if "{{" not in name and (found := approver_fault(name, people)) is not None:
                line, column = runbook.document.locate((*step.path, "approvers", index))
                raise ProjectError(
                    f"step {step.id!r} names {found[0]}",
                    kind=ErrorKind.POLICY,
                    file=runbook.document.file,
                    line=line,
                    column=column,
                    hint=found[1],
                )


def approver_fault(name: str, people: People) -> tuple[str, str] | None:
    """Return an approver whose approval could never be given, with why, and a hint; None for any other."""
    if (group := unknown_group(name, people)) is not None:
        return f"the group {group!r}, which no policy declares", group_hint(group, people.groups)
    if not name.startswith(GROUP) and (fault := id_fault(name)) is not None:
        return f"{name!a}, which cannot be an approver's id: it {fault}", "write the id of a person"
    return None


def unknown_group(name: str, people: People) -> str | None:
    """Return the group that a name stands for when no policy declares it."""
    group = name.removeprefix(GROUP)
    return None if group == name or group in people.groups else group


def group_hint(group: str, groups: Iterable[str]) -> str:
    """Return a hint about a group that does not exist."""
    from gert_core.kit.nearest import nearest  # only mistakes need it

    near = nearest(group, groups)
    return f"did you mean `{GROUP}{near}`?" if near else "declare it under `groups` of a policy"


def _has(document: Any, where: Sequence[str | int]) -> bool:
    for part in where:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


__all__ = ["approver_fault", "check_gates", "check_groups", "group_hint", "refusal", "unknown_group"]
