"""Run the three phases on one document: structure, values and meaning; every finding is collected."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from gert_core.api import Diagnostic, Severity
from gert_core.documents import yaml
from gert_core.documents.kinds import DocumentKind, kind_of
from gert_core.plugin.printing import replaced_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.plugin.registry import Registry
    from gert_core.validation.domain.secrets import SecretNeed
    from gert_core.validation.symbols import RunbookSymbol


class Validated(Struct, frozen=True, kw_only=True):
    """The result of validating one document; ``runbook`` is the tree when it could be built completely."""

    document: yaml.Document
    kind: str | None
    diagnostics: tuple[Diagnostic, ...]
    name: str | None = None
    steps: int = 0
    runbook: Runbook | None = None
    secrets: tuple[SecretNeed, ...] = ()
    documents: Mapping[str, yaml.Document] = field(default_factory=dict)
    """Every file that was read, by its name in diagnostics."""
    find_symbols: Callable[[], tuple[RunbookSymbol, ...]] | None = None

    @property
    def symbols(self) -> tuple[RunbookSymbol, ...]:
        """The names of a runbook: who defines and who reads each of them, and where; found when they are asked for."""
        return () if self.find_symbols is None else self.find_symbols()

    @property
    def valid(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return not any(found.severity is Severity.ERROR for found in self.diagnostics)

    def to_json(self) -> dict[str, object]:
        """Return the object printed by ``gert validate --json``."""
        return {
            "file": self.document.file,
            "kind": self.kind,
            "name": self.name,
            "valid": self.valid,
            "steps": self.steps,
            "diagnostics": [found.to_json() for found in self.diagnostics],
            "secrets": [need.to_json() for need in self.secrets],
        }


def validate_runbook(
    path: Path,
    *,
    registry: Registry,
    project: Project | None = None,
    environ: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Validated:
    """Validate a runbook and the tools it lists; raise ``UsageError`` when the file cannot be opened."""
    document = yaml.load(path, name=name)
    return validate_document(document, kind=DocumentKind.RUNBOOK, registry=registry, project=project, environ=environ)


def validate_file(
    path: Path,
    *,
    registry: Registry,
    project: Project | None = None,
    environ: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Validated:
    """Validate a document of any kind, recognised by its ``apiVersion`` or its file name."""
    document = yaml.load(path, name=name)
    return validate_document(document, kind=None, registry=registry, project=project, environ=environ)


def validate_document(
    document: yaml.Document,
    *,
    kind: str | None = None,
    registry: Registry,
    project: Project | None = None,
    environ: Mapping[str, str] | None = None,
) -> Validated:
    """Validate a document that is loaded already."""
    environ = os.environ if environ is None else environ
    kind = kind or kind_of(document)
    if kind == DocumentKind.RUNBOOK:
        with replaced_stdout():
            return _runbook(document, registry=registry, project=project, environ=environ)
    if kind == DocumentKind.TOOL:
        return _tool(document, registry=registry, environ=environ)
    from gert_core.validation.other import validate_other

    found, name = validate_other(document, kind, registry)
    return Validated(
        document=document,
        kind=kind,
        name=name,
        diagnostics=sorted_findings(found, {document.file: document}),
        documents={document.file: document},
    )


def _runbook(
    document: yaml.Document, *, registry: Registry, project: Project | None, environ: Mapping[str, str]
) -> Validated:
    from gert_core.documents.load import read_runbook
    from gert_core.validation.domain import check_runbook
    from gert_core.validation.domain.report import Report
    from gert_core.validation.domain.secrets import runbook_secrets
    from gert_core.validation.views import TreeView

    loaded = read_runbook(document, registry=registry, project=project)
    tree = loaded.runbook or loaded.partial
    found: list[Diagnostic] = []
    documents: dict[str, yaml.Document] = {}
    trees = []
    for one, owner in ((loaded, project), *((child.loaded, child.project) for child in loaded.included)):
        found += one.diagnostics
        documents[one.document.file] = one.document
        book = one.runbook or one.partial
        if book is None:
            continue
        trees.append(book)
        documents |= {node.document.file: node.document for node in book.tools.values()}
        report = Report()
        check_runbook(book, registry=registry, project=owner, environ=environ, report=report, gaps=one.gaps)
        found += report.found
        if one.runbook is not None:
            found += [_with_position(item, one.document) for item in registry.diagnostics(TreeView(book), owner)]

    def symbols() -> tuple[RunbookSymbol, ...]:
        from gert_core.validation.symbols import symbols_of

        if tree is None:
            return ()
        return symbols_of(tree, registry=registry, project=project, environ=environ, gaps=loaded.gaps)

    return Validated(
        document=document,
        kind=DocumentKind.RUNBOOK,
        name=tree.name if tree is not None and loaded.runbook is not None else _name(document),
        steps=sum(1 for _ in tree.walk()) if tree is not None else 0,
        runbook=loaded.runbook,
        diagnostics=sorted_findings(found, documents),
        secrets=tuple(runbook_secrets(trees, environ)),
        documents=documents,
        find_symbols=cache(symbols),
    )


def _tool(document: yaml.Document, *, registry: Registry, environ: Mapping[str, str]) -> Validated:
    from gert_core.documents.load import read_tool
    from gert_core.validation.domain.report import Report
    from gert_core.validation.domain.secrets import tool_secrets
    from gert_core.validation.domain.toolfiles import ToolFile

    loaded = read_tool(document)
    found = list(loaded.diagnostics)
    secrets: list[SecretNeed] = []
    if loaded.tool is not None:
        report = Report()
        ToolFile(report, document, loaded.tool).check(registry=registry, environ=environ)
        found += report.found
        secrets = tool_secrets(loaded.tool, environ)
    return Validated(
        document=document,
        kind=DocumentKind.TOOL,
        name=_name(document),
        diagnostics=sorted_findings(found, {document.file: document}),
        secrets=tuple(secrets),
        documents={document.file: document},
    )


def sorted_findings(found: Iterable[Diagnostic], documents: Mapping[str, yaml.Document]) -> tuple[Diagnostic, ...]:
    """Return each finding once, without silenced warnings, by file, line, column and rule."""
    kept = {item: None for item in found if not _silenced(item, documents)}
    return tuple(sorted(kept, key=lambda d: (d.file or "", d.line or 0, d.column or 0, d.rule, d.message)))


def _with_position(item: Diagnostic, document: yaml.Document) -> Diagnostic:
    """Return a plugin's finding with a position: without a file it is placed at the start of the runbook."""
    if item.file is not None:
        return item
    line, column = document.start
    return replace(item, file=document.file, line=item.line or line, column=item.column or column)


def _silenced(item: Diagnostic, documents: Mapping[str, yaml.Document]) -> bool:
    if item.severity is not Severity.WARNING or item.line is None:
        return False
    document = documents.get(item.file or "")
    return document is not None and item.rule in document.ignores(item.line)


def _name(document: yaml.Document) -> str | None:
    meta = document.value.get("meta") if isinstance(document.value, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else None


__all__ = ["Validated", "validate_document", "validate_file", "validate_runbook"]
