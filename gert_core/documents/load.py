"""Read a runbook completely: YAML, structure, values, the tree of steps and the tools it lists."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from pydantic import ValidationError

from gert_core.api.diagnostics import Diagnostic, Severity
from gert_core.api.errors import GertError
from gert_core.api.steps import Block
from gert_core.documents import yaml
from gert_core.documents.lookup import find_tool
from gert_core.documents.merge import tool_contract
from gert_core.documents.model_errors import MAX_ERRORS, diagnose, fields_at, model_errors, to_diagnostics
from gert_core.documents.model_hints import meant
from gert_core.documents.partial import without_invalid
from gert_core.documents.runbook import API_VERSION, RunbookModel
from gert_core.documents.standalone import check_head, validate_document
from gert_core.documents.steps import StepReader
from gert_core.documents.tool import API_VERSION as TOOL_VERSION
from gert_core.documents.tool import ToolModel
from gert_core.documents.tree import BlockNode, Runbook, ToolNode
from gert_core.documents.type_functions import TypeFunctions
from gert_core.plugin.kinds import STEP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ToolPack
    from gert_core.documents.contract import ContractModel
    from gert_core.documents.model_errors import ModelError
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path as Place
    from gert_core.plugin.registry import Registry

_ROUNDS: Final = 5
"""How often a head is validated again after invalid parts were removed."""


class Loaded(Struct, frozen=True, kw_only=True):
    """The result of reading a runbook: ``runbook`` when the tree is complete, else ``partial``.

    ``gaps`` are the fields of the head that ``partial`` lacks, and ``steps`` when steps are missing from the tree.

    A complete tree is not necessarily valid: ``diagnostics`` may hold errors that leave the tree intact (an unknown
    field, a duplicate id, a missing tool).
    """

    document: yaml.Document
    diagnostics: list[Diagnostic] = field(default_factory=list)
    runbook: Runbook | None = None
    partial: Runbook | None = None
    gaps: frozenset[str] = frozenset()


class LoadedTool(Struct, frozen=True, kw_only=True):
    """The result of reading a tool document; ``tool`` is None when it is invalid."""

    document: yaml.Document
    diagnostics: list[Diagnostic]
    tool: ToolModel | None = None


def load_runbook(path: Path, *, registry: Registry, project: Project | None = None, name: str | None = None) -> Loaded:
    """Run phases 1 and 2 on a runbook and the tools it lists; findings are collected, not raised."""
    return read_runbook(yaml.load(path, name=name), registry=registry, project=project)


def read_runbook(document: yaml.Document, *, registry: Registry, project: Project | None = None) -> Loaded:
    """Run phases 1 and 2 on a loaded document; tools are looked up next to ``document.path``."""
    diagnostics = [*document.diagnostics, *check_head(document, what="runbook", api_version=API_VERSION)]
    raw = document.value
    if not isinstance(raw, dict):
        return Loaded(document=document, diagnostics=diagnostics)
    model, gaps = _model(document, raw, diagnostics)
    functions = TypeFunctions(document, partial(registry.providers, STEP))
    reader = StepReader(
        document, registry.step_types(), functions=functions, origin=partial(registry.provider_hint, STEP)
    )
    steps = raw.get("steps")
    if isinstance(steps, list):
        root = reader.read(steps, ("steps",))
    else:
        root = BlockNode(block=None, steps=[], path=("steps",))
    cleanup = tuple(
        reader.read(listed, (name,), block=Block(name=name, steps=listed, runs=(least, 1), cleanup=True))
        for name, least in (("on_failure", 0), ("finally", 1))
        if isinstance(listed := raw.get(name), list)
    )
    diagnostics += reader.diagnostics
    tools = _ToolLoader(document, project=project, packs=registry.tool_packs())
    if model is not None:
        tools.load(model.tools)
    diagnostics += tools.diagnostics
    if model is None:
        return Loaded(document=document, diagnostics=diagnostics)
    runbook = Runbook(
        document=document,
        model=model,
        root=root,
        functions=functions,
        tools=tools.nodes,
        by_id=reader.by_id,
        cleanup=cleanup,
    )
    for step in runbook.walk():
        if step.fields.contract is not None:
            diagnostics += check_side_effects(document, step.fields.contract, (*step.path, "contract"))
    if gaps is None and reader.complete:
        return Loaded(document=document, diagnostics=diagnostics, runbook=runbook)
    lost = frozenset() if reader.complete else frozenset({"steps"})
    return Loaded(document=document, diagnostics=diagnostics, partial=runbook, gaps=(gaps or frozenset()) | lost)


def load_tool(path: Path, *, name: str | None = None) -> LoadedTool:
    """Run phases 1 and 2 on a tool document."""
    return read_tool(yaml.load(path, name=name))


def read_tool(document: yaml.Document) -> LoadedTool:
    """Run phases 1 and 2 on a tool document that is loaded already."""
    tool, diagnostics = validate_document(document, ToolModel, what="tool definition", api_version=TOOL_VERSION)
    if tool is not None:
        if tool.contract is not None:
            diagnostics += check_side_effects(document, tool.contract, ("contract",))
        for name, action in tool.actions.items():
            if action.contract is not None:
                diagnostics += check_side_effects(document, action.contract, ("actions", name, "contract"))
    if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        tool = None
    return LoadedTool(document=document, diagnostics=diagnostics, tool=tool)


def check_side_effects(document: yaml.Document, contract: ContractModel, path: Place) -> list[Diagnostic]:
    """Return the findings about the deprecated field ``side_effects`` of a contract."""
    if contract.side_effects is None:
        return []
    place = (*path, "side_effects")
    if contract.effects is not None:
        return [
            diagnose(
                document,
                place,
                rule="side-effects-and-effects",
                phase=2,
                message="`side_effects` and `effects` must not be used together",
                hint="remove `side_effects`",
                key=True,
            )
        ]
    instead = "`effects: [...]` and `writes: [...]`" if contract.side_effects else "`effects: []`"
    return [
        diagnose(
            document,
            place,
            rule="side-effects-deprecated",
            phase=2,
            severity=Severity.WARNING,
            message="`side_effects` is deprecated",
            hint=f"write {instead} instead",
            key=True,
        )
    ]


def _model(
    document: yaml.Document, raw: dict[str, object], diagnostics: list[Diagnostic]
) -> tuple[RunbookModel | None, frozenset[str] | None]:
    """Return the runbook's head and its gaps (None without any); invalid parts are reported, then left out."""
    version_reported = any(diagnostic.rule == "api-version" for diagnostic in diagnostics)
    value: Any = {**raw, "apiVersion": API_VERSION} if version_reported else raw
    gaps: frozenset[str] | None = None
    for _ in range(_ROUNDS):
        try:
            return RunbookModel.model_validate(value), gaps
        except ValidationError as error:
            found = model_errors(error, value)
        if gaps is None:
            diagnostics += to_diagnostics(document, found, model=RunbookModel)
        if len(found) > MAX_ERRORS:
            return None, gaps
        # Checks of whole models only run once the unknown fields are gone, so it is validated again.
        unknown = [item for item in found if item.type == "extra_forbidden"]
        if misplaced := _misplaced(unknown, value):
            gaps = misplaced | (gaps or frozenset())
        value = _without(value, [item.path for item in unknown])
        rest = [item for item in found if item.type != "extra_forbidden"]
        if rest:
            value, more = without_invalid({**value, "apiVersion": API_VERSION, "steps": []}, rest)
            gaps = more | (gaps or frozenset())
            value.setdefault("steps", [])
    return None, gaps


def _misplaced(unknown: list[ModelError], value: Any) -> frozenset[str]:
    """Return the fields of the document that unknown fields are meant to be: misspelled, or written elsewhere."""
    known = [name for name in fields_at(RunbookModel, ("",)) if name not in value]
    names = [str(item.path[-1]) for item in unknown]
    near = [meant(name, known) for name, item in zip(names, unknown, strict=True) if len(item.path) == 1]
    return frozenset(name for name in (*near, *(name for name in names if name in known)) if name)


def _without(value: Any, paths: list[Place]) -> Any:
    """Return a copy of ``value`` without the places ``paths``; everything else is shared with ``value``."""
    gone = {path[0] for path in paths if len(path) == 1}
    below: dict[str | int, list[Place]] = {}
    for path in paths:
        if len(path) > 1:
            below.setdefault(path[0], []).append(path[1:])
    items = value.items() if isinstance(value, dict) else enumerate(value)
    kept = {key: _without(item, below[key]) if key in below else item for key, item in items if key not in gone}
    return kept if isinstance(value, dict) else list(kept.values())


class _ToolLoader:
    """Loader of the listed tools, each once; findings are placed at the list entry and in the tool's own file."""

    def __init__(self, document: yaml.Document, *, project: Project | None, packs: Mapping[str, ToolPack]) -> None:
        self.nodes: dict[str, ToolNode] = {}
        self.diagnostics: list[Diagnostic] = []
        self._document = document
        self._base = document.path.parent if document.path is not None else Path()
        self._project = project
        self._packs = packs
        self._files: dict[Path, LoadedTool] = {}

    def load(self, names: list[str]) -> None:
        """Load every listed tool; a path also makes the tool's own name usable when that is free."""
        places: dict[str, int] = {}
        for index, written in enumerate(self._document.value["tools"] if names else ()):
            if isinstance(written, str):  # faulty entries are not among the names
                places.setdefault(written, index)
        for name in names:
            if name not in self.nodes and len(self.diagnostics) < MAX_ERRORS:
                self._load_one(name, ("tools", places[name]))
        own = [node.tool.meta.name for node in self.nodes.values()]
        for node in list(self.nodes.values()):
            if "/" in node.name.replace("\\", "/") and own.count(node.tool.meta.name) == 1:
                self.nodes.setdefault(node.tool.meta.name, node)

    def _load_one(self, name: str, place: Place) -> None:
        found = find_tool(name, base=self._base, project=self._project, packs=self._packs)
        if found.path is None:
            why = found.reason or f"looked at {', '.join(found.searched) or 'no place: it is not a simple name'}"
            self._report(place, "tool-not-found", f"tool `{name}` is not found; {why}", hint=found.hint)
            return
        key = found.path.resolve()
        loaded = self._files.get(key)
        if loaded is None:
            try:
                loaded = load_tool(found.path)
            except GertError as error:
                self._report(place, "tool-not-found", f"tool `{name}`: {error.message}")
                return
            self._files[key] = loaded
            self.diagnostics += loaded.diagnostics
        if loaded.tool is None:
            errors = sum(1 for diagnostic in loaded.diagnostics if diagnostic.severity is Severity.ERROR)
            noun = "error" if errors == 1 else "errors"
            self._report(place, "tool-invalid", f"tool `{name}` has {errors} {noun}, see {loaded.document.file}")
            return
        contracts = {action: tool_contract(loaded.tool, action)[0] for action in loaded.tool.actions}
        self.nodes[name] = ToolNode(name=name, tool=loaded.tool, document=loaded.document, contracts=contracts)

    def _report(self, place: Place, rule: str, message: str, *, hint: str | None = None) -> None:
        self.diagnostics.append(diagnose(self._document, place, rule=rule, message=message, phase=2, hint=hint))


__all__ = ["Loaded", "LoadedTool", "check_side_effects", "load_runbook", "load_tool", "read_runbook", "read_tool"]
