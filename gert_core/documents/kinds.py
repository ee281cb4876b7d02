"""The kinds of documents: which kind a file is, and reading it as that kind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents import policy, project, runbook, scenario, tool, yaml
from gert_core.documents.load import Loaded, read_runbook, read_tool
from gert_core.documents.problems import diagnose, suggest
from gert_core.documents.standalone import judge

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.api.diagnostics import Diagnostic
    from gert_core.documents.fields import Model
    from gert_core.plugin.registry import Registry


class Kind(StrEnum):
    """A kind of document."""

    RUNBOOK = auto()
    TOOL = auto()
    POLICY = auto()
    PROJECT = auto()
    SCENARIO = auto()
    TEST = auto()


VERSIONS: Final = {
    runbook.API_VERSION: Kind.RUNBOOK,
    tool.API_VERSION: Kind.TOOL,
    policy.API_VERSION: Kind.POLICY,
}
"""Kinds that say what they are by ``apiVersion``."""

NAMES: Final = {
    project.FILE_NAME: Kind.PROJECT,
    scenario.SCENARIO_FILE: Kind.SCENARIO,
    scenario.TEST_FILE: Kind.TEST,
}
"""Kinds that are known by the name of their file."""

MODELS: Final[dict[Kind, type[Model]]] = {
    Kind.RUNBOOK: runbook.RunbookModel,
    Kind.TOOL: tool.ToolModel,
    Kind.POLICY: policy.PolicyModel,
    Kind.PROJECT: project.ProjectModel,
    Kind.SCENARIO: scenario.ScenarioModel,
    Kind.TEST: scenario.ExpectationModel,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A document read as its kind; ``kind`` None when it is none that gert knows.

    ``model`` is None when something is wrong with it; ``loaded`` is set for runbooks.
    """

    kind: Kind | None
    document: yaml.Document
    diagnostics: list[Diagnostic]
    model: Any = None
    loaded: Loaded | None = None


def kind_of(document: yaml.Document) -> Kind | None:
    """The kind of a document: by ``apiVersion`` where it has one, else by the name of its file."""
    value = document.value
    version = value.get("apiVersion") if isinstance(value, dict) else None
    if isinstance(version, str) and version in VERSIONS:
        return VERSIONS[version]
    return NAMES.get(PurePath(document.file).name)


def read_file(
    path: Path, *, registry: Registry, project: project.Project | None = None, name: str | None = None
) -> Judged:
    """Phases 1 and 2 of any document; a file that cannot be opened is a ``UsageError``."""
    return read_document(yaml.load(path, name=name), registry=registry, project=project)


def read_document(document: yaml.Document, *, registry: Registry, project: project.Project | None = None) -> Judged:
    """The same for a document that is loaded already."""
    kind = kind_of(document)
    if kind is None:
        return Judged(kind=None, document=document, diagnostics=[*document.problems, *_unknown(document)])
    if kind is Kind.RUNBOOK:
        loaded = read_runbook(document, registry=registry, project=project)
        whole = loaded.runbook or loaded.partial
        return Judged(
            kind=kind,
            document=document,
            diagnostics=loaded.diagnostics,
            model=whole.model if whole else None,
            loaded=loaded,
        )
    if kind is Kind.TOOL:
        read = read_tool(document)
        return Judged(kind=kind, document=document, diagnostics=read.diagnostics, model=read.tool)
    if document.value is None and not document.problems and kind is not Kind.POLICY:
        return Judged(kind=kind, document=document, diagnostics=[], model=MODELS[kind]())
    model, diagnostics = judge(document, MODELS[kind], what=str(kind))
    return Judged(kind=kind, document=document, diagnostics=diagnostics, model=model)


def _unknown(document: yaml.Document) -> list[Diagnostic]:
    if document.value is None and document.problems:
        return []
    value = document.value
    version = value.get("apiVersion") if isinstance(value, dict) else None
    known = ", ".join(f"`{text}` ({kind})" for text, kind in VERSIONS.items())
    if version is None:
        message, hint = f"`apiVersion` is missing; it says what the document is: {known}", None
    else:
        message = f"{version!r} is no known `apiVersion`; known are {known}"
        hint = suggest(version, VERSIONS) if isinstance(version, str) else None
    place = ("apiVersion",) if version is not None else ()
    return [diagnose(document, place, rule="api-version", phase=1, message=message, hint=hint)]


__all__ = ["MODELS", "NAMES", "VERSIONS", "Judged", "Kind", "kind_of", "read_document", "read_file"]
