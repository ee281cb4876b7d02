"""Validate documents without a third phase of their own, and those of unknown kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.kinds import DocumentKind, model_of

if TYPE_CHECKING:
    from gert_core.api import Diagnostic
    from gert_core.documents.policy import PolicyModel
    from gert_core.documents.yaml import Document
    from gert_core.plugin.registry import Registry


def validate_other(document: Document, kind: str | None, registry: Registry) -> tuple[list[Diagnostic], str | None]:
    """Return the findings and the name of a policy, project, scenario, test, or document of unknown kind."""
    from gert_core.documents.standalone import validate_document

    if kind is None:
        return _unknown(document), None
    if kind == DocumentKind.POLICY:
        policy, found = check_policy(document)
        return found, None if policy is None else policy.meta.name
    what = "project file" if kind == DocumentKind.PROJECT else str(kind)
    model, found = validate_document(document, model_of(DocumentKind(kind)), what=what)
    if kind == DocumentKind.PROJECT and model is not None and getattr(model, "notify", None):
        from gert_core.validation.domain.report import Report
        from gert_core.validation.domain.told import check_told

        report = Report()
        check_told(report, document, document.value, registry)
        found = [*found, *report.found]
    name = getattr(model, "name", None)
    return found, name if isinstance(name, str) else None


def check_policy(document: Document) -> tuple[PolicyModel | None, list[Diagnostic]]:
    """Return a policy (None when its fields are invalid) and the findings about it; with an error it governs no run."""
    from gert_core.documents.policy import API_VERSION, PolicyModel
    from gert_core.documents.standalone import validate_document
    from gert_core.validation.domain.governance import check_rules
    from gert_core.validation.domain.report import Report

    policy, found = validate_document(document, PolicyModel, what="policy", api_version=API_VERSION)
    if policy is None:
        return None, found
    report = Report()
    check_rules(report, document, policy.rules, base=("rules",))
    if any(rule.approvers for rule in policy.rules):
        from gert_core.validation.domain.people import check_groups

        check_groups(report, document, policy)
    return policy, [*found, *report.found]


def _unknown(document: Document) -> list[Diagnostic]:
    from gert_core.documents.model_errors import diagnose

    if document.value is None and document.diagnostics:
        return list(document.diagnostics)
    version = document.value.get("apiVersion") if isinstance(document.value, dict) else None
    reason = "`apiVersion` is missing" if version is None else f"`apiVersion` {version!r} is unknown"
    return [
        *document.diagnostics,
        diagnose(
            document,
            ("apiVersion",) if version is not None else (),
            rule="api-version",
            phase=1,
            message=f"{reason}; cannot determine the kind of this document",
            hint="write `apiVersion: kernel/v0` for a runbook, `tool/v0` for a tool, `policy/v0` for a policy",
        ),
    ]


__all__ = ["check_policy", "validate_other"]
