"""The kinds of documents: how each is recognised, and which model reads it."""

from __future__ import annotations

from enum import StrEnum, auto
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from gert_core.documents.fields import Model
    from gert_core.documents.yaml import Document


class DocumentKind(StrEnum):
    """A kind of document."""

    RUNBOOK = auto()
    TOOL = auto()
    POLICY = auto()
    PROJECT = auto()
    SCENARIO = auto()
    TEST = auto()


VERSIONS: Final = {"kernel/v0": DocumentKind.RUNBOOK, "tool/v0": DocumentKind.TOOL, "policy/v0": DocumentKind.POLICY}
"""Kinds recognised by ``apiVersion``."""

NAMES: Final = {
    "gert-project.yaml": DocumentKind.PROJECT,
    "scenario.yaml": DocumentKind.SCENARIO,
    "test.yaml": DocumentKind.TEST,
}
"""Kinds recognised by the name of their file; none of their fields is mandatory."""

_FAMILIES: Final = {version.partition("/")[0]: kind for version, kind in VERSIONS.items()}
_FIELDS: Final = {"steps": DocumentKind.RUNBOOK, "actions": DocumentKind.TOOL, "rules": DocumentKind.POLICY}
_MODELS: Final = {
    DocumentKind.RUNBOOK: "gert_core.documents.runbook:RunbookModel",
    DocumentKind.TOOL: "gert_core.documents.tool:ToolModel",
    DocumentKind.POLICY: "gert_core.documents.policy:PolicyModel",
    DocumentKind.PROJECT: "gert_core.documents.project:ProjectModel",
    DocumentKind.SCENARIO: "gert_core.documents.scenario:ScenarioModel",
    DocumentKind.TEST: "gert_core.documents.scenario:ExpectationModel",
}


def model_of(kind: DocumentKind) -> type[Model]:
    """Import and return the model of a kind; most commands need only one or two of them."""
    model: type[Model] = load_target(_MODELS[kind])
    return model


def kind_of(document: Document) -> DocumentKind | None:
    """Return the kind of a document by its ``apiVersion``, else by its file name, else by a characteristic field."""
    value = document.value
    name = PurePath(document.file).name
    if isinstance(value, dict):
        version = value.get("apiVersion")
        family = version.partition("/")[0] if isinstance(version, str) else ""
        if family in _FAMILIES:
            return _FAMILIES[family]
        if name in NAMES and "apiVersion" not in value:
            return NAMES[name]
        return next((kind for field, kind in _FIELDS.items() if field in value), None)
    if name in NAMES:
        return NAMES[name]
    return DocumentKind.TOOL if name.endswith(".tool.yaml") else None


__all__ = ["NAMES", "VERSIONS", "DocumentKind", "kind_of", "model_of"]
