"""Reads documents that stand alone (tools, policies, projects, scenarios) against their models."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from gert_core.api.errors import GertError, ProjectError
from gert_core.documents import yaml
from gert_core.documents.compose import EMPTY
from gert_core.documents.problems import diagnose, findings, translate

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.api.diagnostics import Diagnostic
    from gert_core.documents.fields import Model

_M = TypeVar("_M", bound="Model")


def check_head(document: yaml.Document, *, what: str, api_version: str | None) -> list[Diagnostic]:
    """What must hold before a document can be judged: it is a map, and of the right version."""
    value = document.value
    if not isinstance(value, dict):
        if document.problems and value is None:
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


def judge(
    document: yaml.Document, model: type[_M], *, what: str, api_version: str | None = None
) -> tuple[_M | None, list[Diagnostic]]:
    """The document as a model (None when anything is wrong) and every problem of its shape and values.

    Documents without a version have no mandatory field, so they may be empty.
    """
    if api_version is None and says_nothing(document):
        return model(), []
    problems = [*document.problems, *check_head(document, what=what, api_version=api_version)]
    if not isinstance(document.value, dict):
        return None, problems
    version_judged = any(problem.rule == "api-version" for problem in problems)
    try:
        read = model.model_validate(document.value)
    except ValidationError as error:
        found = findings(error, document.value)
        if version_judged:
            found = [item for item in found if item.path != ("apiVersion",)]
        return None, problems + translate(document, found, model=model)
    return (None if problems else read), problems


def says_nothing(document: yaml.Document) -> bool:
    """Whether the file is empty: the one problem that documents without a mandatory field can live with."""
    return document.value is None and [problem.message for problem in document.problems] in ([], [EMPTY])


def read_strictly(
    path: Path, *, what: str, name: str | None = None, error: type[GertError] = ProjectError
) -> yaml.Document:
    """Load a file that nothing can go on without; raises ``error`` when it cannot be read."""
    try:
        document = yaml.load(path, name=name)
    except GertError as problem:
        raise error(f"cannot read the {what} {path}: {problem.message}", file=problem.file) from problem
    if not says_nothing(document):
        _refuse(document, list(document.problems), what=what, error=error)
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
    """The model of a file; raises ``error`` with every diagnostic when anything is wrong."""
    document = document or read_strictly(path, what=what, name=name, error=error)
    read, problems = judge(document, model, what=what, api_version=api_version)
    _refuse(document, problems, what=what, error=error)
    if read is None:  # judge gives a model or a reason; this is for the reader of the types
        raise error(f"the {what} {document.file} cannot be read", file=document.file)
    return read


def _refuse(document: yaml.Document, problems: list[Diagnostic], *, what: str, error: type[GertError]) -> None:
    if not problems:
        return
    first = problems[0]
    where = f" at {first.path}" if first.path else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise error(
        f"the {what} {document.file} is wrong{where}: {first.message}{more}",
        file=document.file,
        line=first.line,
        column=first.column,
        hint=first.hint,
        diagnostics=problems,
    )


__all__ = ["check_head", "judge", "load_strictly", "read_strictly", "says_nothing"]
