"""Which kind of document a file is, and the judgement of kinds that have no third phase of their own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from gert_core.documents import policy, runbook, tool

if TYPE_CHECKING:
    from gert_core.api import Diagnostic
    from gert_core.documents.yaml import Document


def _family(api_version: str) -> str:
    """``policy`` of ``policy/v0``."""
    return api_version.partition("/")[0]


class Kind(StrEnum):
    """The kinds of documents ``gert validate`` knows."""

    RUNBOOK = "runbook"
    TOOL = _family(tool.API_VERSION)
    POLICY = _family(policy.API_VERSION)
    PROJECT = "project"
    SCENARIO = "scenario"
    TEST = "test"


_BY_FAMILY: Final = {
    _family(runbook.API_VERSION): Kind.RUNBOOK,
    _family(tool.API_VERSION): Kind.TOOL,
    _family(policy.API_VERSION): Kind.POLICY,
}
_BY_NAME: Final = {
    "gert-project.yaml": Kind.PROJECT,
    "scenario.yaml": Kind.SCENARIO,
    "test.yaml": Kind.TEST,
}
_BY_FIELD: Final = {"steps": Kind.RUNBOOK, "actions": Kind.TOOL, "rules": Kind.POLICY}


def kind_of(document: Document) -> Kind | None:
    """By ``apiVersion``, else by the name of the file, else by what it plainly looks like."""
    value = document.value
    name = PurePath(document.file).name
    if isinstance(value, dict):
        version = value.get("apiVersion")
        if isinstance(version, str) and _family(version) in _BY_FAMILY:
            return _BY_FAMILY[_family(version)]
        if name in _BY_NAME and "apiVersion" not in value:
            return _BY_NAME[name]
        return next((kind for field, kind in _BY_FIELD.items() if field in value), None)
    if name in _BY_NAME:
        return _BY_NAME[name]
    return Kind.TOOL if name.endswith(".tool.yaml") else None


def judge_other(document: Document, kind: str | None) -> tuple[list[Diagnostic], str | None]:
    """Problems and name of a policy, project, scenario or test; of nothing known, that it is not known."""
    from gert_core.documents.standalone import judge

    if kind == Kind.POLICY:
        return _policy(document)
    if kind == Kind.PROJECT:
        from gert_core.documents.project import ProjectModel

        if document.value is None and not document.problems:
            return [], None
        project, found = judge(document, ProjectModel, what="project file")
        return found, project.name if project is not None else None
    if kind == Kind.SCENARIO:
        from gert_core.documents.scenario import ScenarioModel

        return _empty_or(document) or judge(document, ScenarioModel, what="scenario")[1], None
    if kind == Kind.TEST:
        from gert_core.documents.scenario import ExpectationModel

        return _empty_or(document) or judge(document, ExpectationModel, what="test")[1], None
    return _unknown(document), None


def _empty_or(document: Document) -> list[Diagnostic]:
    return list(document.problems) if document.value is None else []


def _policy(document: Document) -> tuple[list[Diagnostic], str | None]:
    from gert_core.documents.standalone import judge
    from gert_core.validation.domain.governance import check_rules
    from gert_core.validation.domain.report import Report

    model, found = judge(document, policy.PolicyModel, what="policy", api_version=policy.API_VERSION)
    if model is None:
        return found, None
    report = Report()
    check_rules(report, document, model.rules, base=("rules",))
    return [*found, *report.found], model.meta.name


def _unknown(document: Document) -> list[Diagnostic]:
    from gert_core.documents.problems import diagnose

    if document.value is None and document.problems:
        return list(document.problems)
    version = document.value.get("apiVersion") if isinstance(document.value, dict) else None
    said = "`apiVersion` is missing" if version is None else f"`apiVersion` {version!r} is not known"
    return [
        *document.problems,
        diagnose(
            document,
            ("apiVersion",) if version is not None else (),
            rule="api-version",
            phase=1,
            message=f"{said}, so it cannot be told what this document is",
            hint="write `apiVersion: kernel/v0` for a runbook, `tool/v0` for a tool, `policy/v0` for a policy",
        ),
    ]


__all__ = ["Kind", "judge_other", "kind_of"]
