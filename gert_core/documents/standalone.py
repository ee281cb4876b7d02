"""Read single documents (tools, policies, projects, scenarios) and validate them against their models."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from gert_core.api.errors import GertError, ProjectError
from gert_core.documents import yaml
from gert_core.documents.compose import EMPTY
from gert_core.documents.model_errors import diagnose, model_errors, to_diagnostics

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.api.diagnostics import Diagnostic
    from gert_core.documents.fields import Model

_M = TypeVar("_M", bound="Model")


def check_head(document: yaml.Document, *, what: str, api_version: str | None) -> list[Diagnostic]:
    """Check what every document needs before it is validated: it is a map, and of the right version."""
    value = document.value
    if not isinstance(value, dict):
        if document.diagnostics and value is None:
            return []
        kind = "empty" if value is None else "a list" if isinstance(value, list) else "a single value"
        return [
            diagnose(document, (), rule="wrong-type", phase=1, message=f"a {what} is a map of fields; this is {kind}")
        ]
    if api_version is None:
        return []
    if "apiVersion" not in value:
        return [
            diagnose(
                document,
                (),
                rule="api-version",
                phase=1,
                message=f"`apiVersion` is missing; a {what} has `apiVersion: {api_version}`",
                hint=f"add `apiVersion: {api_version}` as the first line",
            )
        ]
    if value["apiVersion"] != api_version:
        return [
            diagnose(
                document,
                ("apiVersion",),
                rule="api-version",
                phase=1,
                message=f"`apiVersion` of a {what} is `{api_version}`, not {value['apiVersion']!r}",
                hint=f"write `apiVersion: {api_version}`",
            )
        ]
    return []


def validate_document(
    document: yaml.Document, model: type[_M], *, what: str, api_version: str | None = None
) -> tuple[_M | None, list[Diagnostic]]:
    """Return the document as a model (None when it is invalid) and every finding about its structure and values.

    Documents without a version have no mandatory field, so they may be empty.
    """
    if api_version is None and is_empty(document):
        return model(), []
    diagnostics = [*document.diagnostics, *check_head(document, what=what, api_version=api_version)]
    if not isinstance(document.value, dict):
        return None, diagnostics
    version_reported = any(diagnostic.rule == "api-version" for diagnostic in diagnostics)
    try:
        read = model.model_validate(document.value)
    except ValidationError as error:
        found = model_errors(error, document.value)
        if version_reported:
            found = [item for item in found if item.path != ("apiVersion",)]
        return None, diagnostics + to_diagnostics(document, found, model=model)
    return (None if diagnostics else read), diagnostics


def is_empty(document: yaml.Document) -> bool:
    """Return whether the file is empty, which is valid for documents without a mandatory field."""
    return document.value is None and [diagnostic.message for diagnostic in document.diagnostics] in ([], [EMPTY])


def read_strictly(
    path: Path, *, what: str, name: str | None = None, error: type[GertError] = ProjectError
) -> yaml.Document:
    """Load a file that is required to continue; raise ``error`` when it cannot be read."""
    try:
        document = yaml.load(path, name=name)
    except GertError as failure:
        raise error(f"cannot read the {what} {path}: {failure.message}", file=failure.file) from failure
    if not is_empty(document):
        refuse(document, list(document.diagnostics), what=what, error=error)
    return document


def load_strictly(
    path: Path,
    model: type[_M],
    *,
    what: str,
    api_version: str | None = None,
    name: str | None = None,
    document: yaml.Document | None = None,
    error: type[GertError] = ProjectError,
) -> _M:
    """Return the model of a file; raise ``error`` with every diagnostic when it is invalid."""
    document = document or read_strictly(path, what=what, name=name, error=error)
    read, diagnostics = validate_document(document, model, what=what, api_version=api_version)
    refuse(document, diagnostics, what=what, error=error)
    if read is None:  # validate_document returns a model or a finding; mypy cannot know
        raise error(f"the {what} {document.file} cannot be read", file=document.file)
    return read


def refuse(
    document: yaml.Document, diagnostics: list[Diagnostic], *, what: str, error: type[GertError] = ProjectError
) -> None:
    """Raise ``error`` with every diagnostic, if there is one."""
    if not diagnostics:
        return
    first = diagnostics[0]
    where = f" at {first.path}" if first.path else ""
    more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
    raise error(
        f"the {what} {document.file} is invalid{where}: {first.message}{more}",
        file=document.file,
        line=first.line,
        column=first.column,
        hint=first.hint,
        diagnostics=diagnostics,
    )


__all__ = ["check_head", "is_empty", "load_strictly", "read_strictly", "refuse", "validate_document"]
