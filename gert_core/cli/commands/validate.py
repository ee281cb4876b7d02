"""``gert validate``: validate runbooks, tools and other documents, and show every finding."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec.structs import replace

from gert_core.api.diagnostics import Diagnostic, Severity
from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render import diagnostics
from gert_core.cli.render.terminal import escape, out, paint
from gert_core.cli.session import registry_for
from gert_core.documents.project_file import project_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.documents.project import Project
    from gert_core.documents.yaml import Document
    from gert_core.plugin.registry import Registry
    from gert_core.validation import Validated

_SUFFIXES: Final = (".yaml", ".yml")


def validate(
    ctx: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Documents, or directories of them.", readable=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Also write the findings as SARIF 2.1.0.", readable=False),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let warnings fail too, except those about this machine.")
    ] = False,
) -> int:
    """Check runbooks, tools, policies, projects and scenarios without running anything."""
    session = _Session(ctx.obj)
    results = [result for file in files for result in session.validate(file)]
    found = _distinct(results)
    if sarif is not None:
        _write_sarif(sarif, found)
    if json:
        import json as json_

        documents = [result.to_json() for result in results]
        single = len(files) == 1 and not files[0].is_dir()
        out(json_.dumps(documents[0] if single else documents, ensure_ascii=False))
    else:
        _show(results, found, strict=strict)
    failing = [item for item in found if _counts(item, strict=strict)]
    return 1 if failing else 0


class _Session:
    """Validates file after file; projects and registries are found once per directory and project."""

    def __init__(self, options: Any) -> None:
        self._options = options
        self._projects: dict[Path, Project | None] = {}
        self._registries: dict[Path | None, Registry] = {}

    def validate(self, path: Path) -> list[Validated]:
        from gert_core.documents import yaml

        if not path.is_dir():
            return [self._one(yaml.load(path))]
        documents = [yaml.load(file) for file in _below(path)]
        ours = [document for document in documents if _is_ours(document)]
        if not ours:
            raise UsageError(f"no documents of gert found under {path}", hint="name the files to validate")
        return [self._one(document) for document in ours]

    def _one(self, document: Document) -> Validated:
        from gert_core.documents.kinds import DocumentKind, kind_of
        from gert_core.validation import validate_document

        kind = kind_of(document)
        # An invalid project file may be the document being validated; it must not stop its own validation.
        project = None if kind == DocumentKind.PROJECT or document.path is None else self._project(document.path.parent)
        registry = self._registry(project)
        found = validate_document(
            document, kind=kind, registry=registry, project=project, environ=self._options.environ
        )
        book = found.runbook
        asks = book is not None and any(step.type.gate is not None for step in book.by_id.values())
        if kind != DocumentKind.POLICY and not asks and (book is None or book.model.meta.governance is None):
            return found
        from gert_core.governance.findings import with_governance

        return with_governance(found, registry=registry, project=project)

    def _project(self, directory: Path) -> Project | None:
        if directory not in self._projects:
            found = None
            here = directory.resolve()
            if project_file((here, *here.parents)) is not None:
                from gert_core.documents.project import find_project

                found = find_project(directory)
            self._projects[directory] = found
        return self._projects[directory]

    def _registry(self, project: Project | None) -> Registry:
        root = project.root.resolve() if project is not None else None
        if root not in self._registries:
            self._registries[root] = registry_for(project, self._options)
        return self._registries[root]


def _below(directory: Path) -> list[Path]:
    """Return every YAML file under a directory, in a stable order; leave out hidden directories."""
    found: list[Path] = []
    for folder, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [Path(folder) / name for name in sorted(files) if name.endswith(_SUFFIXES)]
    return found


def _is_ours(document: Document) -> bool:
    """Return whether a file found in a directory is a document of gert."""
    from gert_core.documents.kinds import NAMES, kind_of

    if not document.value and document.path is not None and document.path.name in NAMES:
        return True  # nothing in these files is mandatory, so they may be empty
    if document.value is None and document.diagnostics:
        lines = (document.source_line(number) for number in range(1, 51))
        return any(line.startswith("apiVersion:") for line in lines)
    if not isinstance(document.value, dict):
        return False
    named = kind_of(document)
    return named is not None and ("apiVersion" in document.value or named not in ("runbook", "policy"))


def _distinct(results: Sequence[Validated]) -> list[Diagnostic]:
    """Return every finding once, also when several runbooks list the same tool; as an error where it is one for any."""
    found: dict[Diagnostic, Diagnostic] = {}
    for item in (item for result in results for item in result.diagnostics):
        place = os.path.abspath(item.file) if item.file is not None else None  # noqa: PTH100 - it stays a text
        alike = replace(item, severity=Severity.ERROR, file=place)
        if alike not in found or item.severity is Severity.ERROR:
            found[alike] = item
    return list(found.values())


def _show(results: Sequence[Validated], found: Sequence[Diagnostic], *, strict: bool) -> None:
    documents: dict[str, Document] = {}
    for result in results:
        documents.update(result.documents)

    def source_line(file: str, line: int) -> str:
        if file not in documents:
            from gert_core.documents import yaml

            try:
                documents[file] = yaml.load(Path(file))
            except UsageError:
                return ""
        return documents[file].source_line(line)

    for line in diagnostics.render(found, source_line):
        out(line)
    for result in results:
        _summary(result, strict=strict)
    if len(results) > 1:
        wrong = sum(1 for result in results if not _passes(result, strict=strict))
        summary = f"{len(results)} documents, {wrong} not valid" if wrong else f"{len(results)} documents, all valid"
        out(f"{summary}: {diagnostics.counts(found)}")


def _summary(result: Validated, *, strict: bool) -> None:
    good = _passes(result, strict=strict)
    mark = paint("✓", "green") if good else paint("✗", "red")
    what = " ".join(part for part in (result.kind or "document", escape(result.name or "")) if part)
    if result.steps:
        what += f", {result.steps} step{'' if result.steps == 1 else 's'}"
    out(f"{mark} {escape(result.document.file)}: {what}: {diagnostics.counts(result.diagnostics)}")
    required = [need for need in result.secrets if need.required]
    if required:
        names = ", ".join(need.env if need.present else f"{need.env} (missing)" for need in required)
        noun = "secret" if len(required) == 1 else "secrets"
        out(f"  requires {len(required)} {noun}: {names}")


def _passes(result: Validated, *, strict: bool) -> bool:
    return not any(_counts(item, strict=strict) for item in result.diagnostics)


def _counts(item: Diagnostic, *, strict: bool) -> bool:
    """Return whether a finding makes the command fail; what depends on the machine never does by being a warning."""
    from gert_core.validation.rules import MACHINE

    return item.severity is Severity.ERROR or (strict and item.rule not in MACHINE)


def _write_sarif(path: Path, found: Iterable[Diagnostic]) -> None:
    import json as json_

    from gert_core import __version__
    from gert_core.cli.render.sarif import sarif
    from gert_core.kit.files import write_named

    text = json_.dumps(sarif(found, version=__version__), ensure_ascii=False, indent=2)
    try:
        write_named(path, f"{text}\n".encode())
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", hint="choose another --sarif file"
        ) from error


__all__ = ["validate"]
