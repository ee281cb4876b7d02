"""Read the tools that a runbook lists, and what is wrong with their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from gert_core.api.diagnostics import Diagnostic, Severity
from gert_core.api.errors import GertError
from gert_core.documents import yaml
from gert_core.documents.contract_checks import check_contract
from gert_core.documents.lookup import find_tool
from gert_core.documents.merge import tool_contract
from gert_core.documents.model_errors import MAX_ERRORS, diagnose
from gert_core.documents.standalone import validate_document
from gert_core.documents.tool import API_VERSION as TOOL_VERSION
from gert_core.documents.tool import ToolModel
from gert_core.documents.tree import ITSELF, ToolNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gert_core.api import ToolPack
    from gert_core.documents.project import Project
    from gert_core.documents.tree import BlockNode
    from gert_core.documents.tree import Path as Place
    from gert_core.documents.type_functions import TypeFunctions

    Uses = set[tuple[str, str | None]]


class LoadedTool(Struct, frozen=True, kw_only=True):
    """The result of reading a tool document; ``tool`` is None when it is invalid."""

    document: yaml.Document
    diagnostics: list[Diagnostic]
    tool: ToolModel | None = None


def load_tool(path: Path, *, name: str | None = None) -> LoadedTool:
    """Run phases 1 and 2 on a tool document."""
    return read_tool(yaml.load(path, name=name))


def read_tool(document: yaml.Document) -> LoadedTool:
    """Run phases 1 and 2 on a tool document that is loaded already."""
    tool, diagnostics = validate_document(document, ToolModel, what="tool definition", api_version=TOOL_VERSION)
    if tool is not None:
        if tool.contract is not None:
            diagnostics += check_contract(document, tool.contract, ("contract",))
        for name, action in tool.actions.items():
            if action.contract is not None:
                diagnostics += check_contract(document, action.contract, ("actions", name, "contract"))
    if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        tool = None
    return LoadedTool(document=document, diagnostics=diagnostics, tool=tool)


class ToolLoader:
    """Loader of the listed tools, each once; findings are placed at the list entry and in the tool's own file."""

    def __init__(self, document: yaml.Document, *, project: Project | None, packs: Mapping[str, ToolPack]) -> None:
        self.nodes: dict[str, ToolNode] = {}
        self.diagnostics: list[Diagnostic] = []
        self._document = document
        self._base = document.path.parent if document.path is not None else Path()
        self._project = project
        self._packs = packs
        self._files: dict[Path, LoadedTool] = {}
        self._uses: Callable[[], Uses] | None = None

    def load(self, names: list[str], *, uses: Callable[[], Uses] | None = None) -> None:
        """Load every listed tool; a path also makes the tool's own name usable when that is free.

        ``uses`` gives the actions that steps use; None: any may be used.
        """
        self._uses = uses
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
            why = (
                found.reason
                or f"looked at {', '.join(dict.fromkeys(found.searched)) or 'no place: it is not a simple name'}"
            )
            self._report(place, "tool-not-found", f"tool `{name}` is not found; {why}", hint=found.hint)
            return
        if found.hidden is not None:
            self._report(
                place,
                "not-acted-on",
                f"tool `{name}` is the one of the installed pack `{found.pack}`, not {found.hidden}",
                hint=f"write `{found.pack}/{name}` for that of the pack, or `{found.hidden}` for the file",
                severity=Severity.WARNING,
            )
        key = found.path.resolve()
        loaded = self._files.get(key)
        if loaded is None:
            try:
                loaded = load_tool(found.path)
            except GertError as error:
                self._report(place, "tool-not-found", f"tool `{name}`: {error.message}")
                return
            if loaded.tool is None and self._uses is not None:
                names = {name, _own_name(loaded)}  # a tool that is listed by its path is used by its own name
                loaded = _without_idle(loaded, {action for tool, action in self._uses() if tool in names})
            self._files[key] = loaded
            self.diagnostics += loaded.diagnostics
        if loaded.tool is None:
            errors = sum(1 for diagnostic in loaded.diagnostics if diagnostic.severity is Severity.ERROR)
            noun = "error" if errors == 1 else "errors"
            file = loaded.document.file
            message = f"tool `{name}` has {errors} {noun}, see {file}"
            self._report(place, "tool-invalid", message, hint=f"mend what `gert validate {file}` reports")
            return
        contracts = {action: tool_contract(loaded.tool, action)[0] for action in loaded.tool.actions}
        self.nodes[name] = ToolNode(
            name=name, tool=loaded.tool, document=loaded.document, contracts=contracts, cwd=self._cwd(loaded)
        )

    def _cwd(self, loaded: LoadedTool) -> str | None:
        """Return the directory that ``meta.cwd`` names; without a project, its directory is the runbook's."""
        word = loaded.tool.meta.cwd if loaded.tool is not None else None
        if word is None or word == "caller":
            return None
        if word == ITSELF:
            return str((loaded.document.path or Path()).parent.resolve())
        root = self._project.root if word == "project" and self._project is not None else self._base
        return str(root.resolve())

    def _report(
        self,
        place: Place,
        rule: str,
        message: str,
        *,
        hint: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        self.diagnostics.append(
            diagnose(self._document, place, rule=rule, message=message, phase=2, hint=hint, severity=severity)
        )


def _own_name(loaded: LoadedTool) -> str | None:
    """Return the name in a tool's file, which may be invalid elsewhere."""
    meta = loaded.document.value.get("meta") if isinstance(loaded.document.value, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else None


def _without_idle(loaded: LoadedTool, used: set[str | None]) -> LoadedTool:
    """Return an invalid tool without the actions that are invalid and that no step uses; their errors are warnings."""
    raw = loaded.document.value
    actions = raw.get("actions") if isinstance(raw, dict) else None
    if not isinstance(actions, dict) or None in used:
        return loaded
    idle = [name for name in actions if name not in used and not _valid({**raw, "actions": {name: actions[name]}})]
    kept = {**raw, "actions": {name: action for name, action in actions.items() if name not in idle}}
    if not idle or loaded.document.diagnostics:
        return loaded
    valid = _valid(kept)
    findings = [
        replace(item, severity=Severity.WARNING)
        if item.severity is Severity.ERROR and (valid or _is_inside(item.path, idle))
        else item
        for item in loaded.diagnostics
    ]
    if not valid and not any(item.severity is Severity.ERROR for item in findings):
        return loaded  # no action is left
    tool = ToolModel.model_validate(kept) if valid else loaded.tool
    return LoadedTool(document=loaded.document, diagnostics=findings, tool=tool)


def _is_inside(path: str, actions: list[str]) -> bool:
    """Return whether a finding's path is that of one of the actions, or of something in it."""
    return any(f"{path}.".startswith((f"actions.{name}.", f"actions.{name}[")) for name in actions)


def _valid(raw: dict[str, Any]) -> bool:
    try:
        tool = ToolModel.model_validate(raw)
    except ValidationError:
        return False
    contracts = [tool.contract, *(action.contract for action in tool.actions.values())]
    return not any(c is not None and c.side_effects is not None and c.effects is not None for c in contracts)


def used_actions(lists: Iterable[BlockNode], functions: TypeFunctions) -> Uses:
    """Return the tools and actions that steps use; a step that names no action may use any."""
    found: set[tuple[str, str | None]] = set()
    blocks = [*lists]
    while blocks:
        for step in blocks.pop().steps:
            blocks.extend(step.blocks)
            if (use := functions.tool_use(step)) is not None:
                found.add((use.tool, use.action))
    return found


__all__ = ["LoadedTool", "ToolLoader", "load_tool", "read_tool", "used_actions"]
