"""Which kind of document a file is, and the judgement of kinds that have no third phase of their own."""

from __future__ import annotations

from enum import StrEnum, auto
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gert_core.api import Diagnostic
    from gert_core.documents.yaml import Document


class Kind(StrEnum):
    """The kinds of ``gert_core.documents.kinds``, known without importing the models of all of them."""

    RUNBOOK = auto()
    TOOL = auto()
    POLICY = auto()
    PROJECT = auto()
    SCENARIO = auto()
    TEST = auto()


_FAMILIES: Final = {"kernel": Kind.RUNBOOK, str(Kind.TOOL): Kind.TOOL, "policy": Kind.POLICY}
_NAMES: Final = {"gert-project.yaml": Kind.PROJECT, "scenario.yaml": Kind.SCENARIO, "test.yaml": Kind.TEST}
_FIELDS: Final = {"steps": Kind.RUNBOOK, "actions": Kind.TOOL, "rules": Kind.POLICY}


def kind_of(document: Document) -> Kind | None:
    """By ``apiVersion``, else by the name of the file, else by what it plainly looks like."""
    value = document.value
    name = PurePath(document.file).name
    if isinstance(value, dict):
        version = value.get("apiVersion")
        family = version.partition("/")[0] if isinstance(version, str) else ""
        if family in _FAMILIES:
            return _FAMILIES[family]
        if name in _NAMES and "apiVersion" not in value:
            return _NAMES[name]
        return next((kind for field, kind in _FIELDS.items() if field in value), None)
    if name in _NAMES:
        return _NAMES[name]
    return Kind.TOOL if name.endswith(".tool.yaml") else None


def judge_other(document: Document, kind: str | None) -> tuple[list[Diagnostic], str | None]:
    """Problems and name of a policy, project, scenario or test; of nothing known, that it is not known."""
    from gert_core.documents.standalone import judge

    if kind is None:
        return _unknown(document), None
    if kind == Kind.POLICY:
        return _policy(document)
    from gert_core.documents import kinds

    what = "project file" if kind == Kind.PROJECT else str(kind)
    model, found = judge(document, kinds.MODELS[kinds.Kind(kind)], what=what)
    name = getattr(model, "name", None)
    return found, name if isinstance(name, str) else None


def _policy(document: Document) -> tuple[list[Diagnostic], str | None]:
    from gert_core.documents.policy import API_VERSION, PolicyModel
    from gert_core.documents.standalone import judge
    from gert_core.validation.domain.governance import check_rules
    from gert_core.validation.domain.report import Report

    policy, found = judge(document, PolicyModel, what="policy", api_version=API_VERSION)
    if policy is None:
        return found, None
    report = Report()
    check_rules(report, document, policy.rules, base=("rules",))
    return [*found, *report.found], policy.meta.name


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
