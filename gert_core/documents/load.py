"""Read a runbook completely: YAML, structure, values, the tree of steps and the tools it lists."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from pydantic import ValidationError

from gert_core.api.diagnostics import Severity
from gert_core.api.errors import DocumentError
from gert_core.api.steps import Block
from gert_core.documents import yaml
from gert_core.documents.contract_checks import check_contract
from gert_core.documents.load_tools import LoadedTool, ToolLoader, load_tool, read_tool, used_actions
from gert_core.documents.model_errors import MAX_ERRORS, model_errors, to_diagnostics
from gert_core.documents.model_fields import fields_at
from gert_core.documents.model_hints import meant
from gert_core.documents.partial import without_invalid
from gert_core.documents.runbook import API_VERSION, RunbookModel
from gert_core.documents.standalone import check_head
from gert_core.documents.steps import StepReader
from gert_core.documents.tree import BlockNode, Runbook
from gert_core.documents.type_functions import TypeFunctions
from gert_core.plugin.kinds import STEP

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api.diagnostics import Diagnostic
    from gert_core.documents.includes import IncludeLoader, LoadedInclude
    from gert_core.documents.model_errors import ModelError
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path as Place
    from gert_core.plugin.registry import Registry

_ALSO_CALLED: Final = {"rescue": "on_failure", "always": "finally"}
"""Words of other tools for fields of a runbook, for hints."""
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
    included: tuple[LoadedInclude, ...] = ()
    """What was read of the runbooks that it includes, at any depth; empty for one that is included itself."""


def complete_runbook(loaded: Loaded, *, so: str) -> Runbook:
    """Return the tree of a runbook that was read completely; raise ``DocumentError`` with its errors otherwise.

    ``so`` says what cannot be told without it.
    """
    if loaded.runbook is not None:
        return loaded.runbook
    errors = [found for found in loaded.diagnostics if found.severity is Severity.ERROR]
    raise DocumentError(
        f"{loaded.document.file} is not a valid runbook, so {so}",
        hint="`gert validate` shows everything that is wrong",
        diagnostics=errors,
    )


def load_runbook(
    path: Path,
    *,
    registry: Registry,
    project: Project | None = None,
    name: str | None = None,
    overlay: Mapping[Path, bytes] | None = None,
) -> Loaded:
    """Run phases 1 and 2 on a runbook and the tools it lists; findings are collected, not raised.

    ``overlay`` has the bytes of documents as an editor has them, by path; they are read instead of the files.
    """
    with yaml.overlaid(overlay):
        return read_runbook(yaml.load(path, name=name), registry=registry, project=project)


def read_runbook(
    document: yaml.Document,
    *,
    registry: Registry,
    project: Project | None = None,
    includes: IncludeLoader | None = None,
) -> Loaded:
    """Run phases 1 and 2 on a loaded document; tools are looked up next to ``document.path``.

    ``includes`` is that of the runbook that includes this one.
    """
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
    tools = ToolLoader(document, project=project, packs=registry.tool_packs())
    if model is not None:
        tools.load(model.tools, uses=partial(used_actions, (root, *cleanup), functions) if reader.complete else None)
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
            diagnostics += check_contract(document, step.fields.contract, (*step.path, "contract"))
    included: tuple[LoadedInclude, ...] = ()
    if reader.includes:
        from gert_core.documents.includes import IncludeLoader

        loader = includes or IncludeLoader(document, registry=registry)
        diagnostics += loader.read(reader.includes, runbook, project)
        included = loader.all if includes is None else ()
        runbook.included = {one.name: one.as_included() for one in included if one.loaded.runbook is not None}
    if gaps is None and reader.complete:
        return Loaded(document=document, diagnostics=diagnostics, runbook=runbook, included=included)
    lost = frozenset() if reader.complete else frozenset({"steps"})
    gaps = (gaps or frozenset()) | lost
    return Loaded(document=document, diagnostics=diagnostics, partial=runbook, gaps=gaps, included=included)


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
            diagnostics += to_diagnostics(document, found, model=RunbookModel, also_called=_ALSO_CALLED)
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


__all__ = ["Loaded", "LoadedTool", "load_runbook", "load_tool", "read_runbook", "read_tool"]
