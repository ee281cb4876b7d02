"""List the names of a runbook for editors: who defines each of them, who reads it, and where."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.validation.domain.context import Context
from gert_core.validation.domain.environment import SCOPE
from gert_core.validation.domain.facts import FactTable
from gert_core.validation.domain.flow import jump_of
from gert_core.validation.domain.report import Report, position_in_value
from gert_core.validation.domain.variables import VariableWalk
from gert_core.validation.reads import CONSTANT, INPUT, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path, Runbook, StepNode
    from gert_core.documents.yaml import Document
    from gert_core.plugin.registry import Registry
    from gert_core.template import Reference
    from gert_core.validation.domain.expressions import TemplateText

    Key = tuple[str, str | None, str]

OUTPUT: Final = "output"
ITEM: Final = "item"
TOOL: Final = "tool"
ACTION: Final = "action"
STEP: Final = "step"
_WORDS: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[.\w-]+""")
"""The words of an expression; a string is one word, so that no variable is found in it."""


class SymbolPlace(Struct, frozen=True, kw_only=True):
    """Where a name stands, or, if it is not ``exact``, the value that it is spelled in; the end is behind it."""

    file: str
    path: Path
    line: int
    column: int
    end_line: int
    end_column: int
    step: str | None = None
    """The id of the step that it is part of."""
    exact: bool = True

    def to_json(self) -> dict[str, object]:
        """Return the place as an object."""
        return {name: getattr(self, name) for name in self.__struct_fields__} | {"path": list(self.path)}


class RunbookSymbol(Struct, frozen=True, kw_only=True):
    """A name: an ``input``, ``constant``, ``step``, ``output``, ``item`` (of a loop), ``tool`` or ``action``.

    ``of`` is the id of the step that sets an output or has the loop, or the tool of an action. ``type`` is that of the
    value, of a step the name of its type.
    """

    kind: str
    name: str
    of: str | None = None
    type: str = "any"
    defined: tuple[SymbolPlace, ...] = ()
    read: tuple[SymbolPlace, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the symbol as an object."""
        places = {name: [place.to_json() for place in getattr(self, name)] for name in ("defined", "read")}
        return {"kind": self.kind, "name": self.name, "of": self.of, "type": self.type, **places}


def symbols_of(
    runbook: Runbook,
    *,
    registry: Registry,
    project: Project | None,
    environ: Mapping[str, str],
    gaps: frozenset[str] = frozenset(),
) -> tuple[RunbookSymbol, ...]:
    """Return the names of a runbook in the order of their kinds and definitions; it need not be valid or complete."""
    ctx = Context(runbook, registry=registry, project=project, environ=environ, report=Report(), gaps=gaps)
    walk = VariableWalk(ctx, FactTable(runbook))
    found = _Symbols(walk)
    walk.refs.note = found.note
    walk.run()
    return tuple(found.symbols())


class _Symbols:
    """The symbols of one runbook: first what defines them, then what reads them, noted while templates are checked."""

    def __init__(self, walk: VariableWalk) -> None:
        self._walk = walk
        self._book = walk.ctx.runbook
        self._document = self._book.document
        self._types: dict[Key, str] = {}
        self._defined: dict[Key, list[SymbolPlace]] = {}
        self._read: dict[Key, dict[SymbolPlace, None]] = {}
        self._tools()
        for kind, declared in ((INPUT, self._book.model.meta.inputs), (CONSTANT, self._book.model.meta.constants)):
            for name, one in declared.items():
                place = self._span(("meta", f"{kind}s", name), key=True)
                self._define((kind, None, name), place, getattr(one, "type", None) or "any")
        for step in walk.ctx.steps:
            self._step(step)
        for step in walk.ctx.steps:
            self._uses(step)

    def symbols(self) -> Iterator[RunbookSymbol]:
        for key, places in self._defined.items():
            kind, of, name = key
            read = sorted(self._read.get(key, ()), key=lambda place: (place.file, place.line, place.column))
            yield RunbookSymbol(
                kind=kind, name=name, of=of, type=self._types[key], defined=tuple(places), read=tuple(read)
            )

    # -- what defines names --------------------------------------------------------------------------------------

    def _define(self, key: Key, place: SymbolPlace, type_: str = "any") -> None:
        self._types.setdefault(key, type_)
        places = self._defined.setdefault(key, [])
        if place not in places:
            places.append(place)

    def _tools(self) -> None:
        listed = self._document.value.get("tools")
        for number, name in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(name, str):
                self._define((TOOL, None, name), self._span(("tools", number)), TOOL)
        for tool in dict.fromkeys(self._book.tools.values()):
            for action in tool.tool.actions:
                place = self._span(("actions", action), key=True, document=tool.document)
                self._define((ACTION, tool.name, action), place, ACTION)

    def _step(self, step: StepNode) -> None:
        own = self._span((*step.path, "id"), step=step) if "id" in step.raw else self._span(step.path, step=step)
        self._define((STEP, None, step.id), own, step.type.name)
        facts, loop = self._walk.facts.of(step), step.fields.for_each
        for name, shape in facts.outputs.items():
            self._define((OUTPUT, step.id, name), own, shape.kind)
        for name, kind in step.type.fields.items():
            self._define((OUTPUT, step.id, name), own, kind)
        exported = step.raw.get("export")
        for name in step.fields.exports:
            at: str | int = exported.index(name) if isinstance(exported, list) and name in exported else name
            place = self._span((*step.path, "export", at), key=isinstance(exported, dict), step=step)
            known = facts.outputs.get(name)
            self._define((OUTPUT, step.id, name), place, "any" if known is None or loop is not None else known.kind)
        if loop is not None:
            written = "as" in (step.raw.get("for_each") or {})
            place = self._span((*step.path, "for_each", *(("as",) if written else ())), step=step)
            self._define((ITEM, step.id, loop.as_), place)

    # -- what reads them -----------------------------------------------------------------------------------------

    def note(self, step: StepNode | None, text: TemplateText, references: Sequence[Reference]) -> None:
        """Take what a text of a step reads, of the constants without one."""
        seen: Counter[tuple[object, ...]] = Counter()
        for reference in references:
            for key, segment in self._resolved(reference.path, step):
                spelled = ".".join(reference.path[: segment + 1])
                same = (key, reference.where, reference.offset, spelled)
                place = _offset(text.value, spelled, reference.offset, nth=seen[same])
                self._take(key, self._in_text(text, reference, segment, step, place))
                seen[same] += 1

    def _take(self, key: Key, place: SymbolPlace) -> None:
        if key in self._defined:
            self._read.setdefault(key, {})[place] = None

    def _uses(self, step: StepNode) -> None:
        """Take the tool and the action, the variables that are spread, and where the run goes on."""
        use = self._book.functions.tool_use(step)
        tool = None if use is None else self._book.tools.get(use.tool)
        if use is not None:
            own = [name for name in step.raw if name in type(step.body).model_fields]
            fields = [name for name in own if step.raw[name] == use.tool]
            listed = use.tool if tool is None else tool.name
            self._take((TOOL, None, listed), self._span((*step.path, *fields[:1]), step=step))
            actions = [name for name in own if step.raw[name] == use.action and name not in fields[:1]]
            if tool is not None and use.action is not None:
                self._take((ACTION, tool.name, use.action), self._span((*step.path, *actions[:1]), step=step))
        for path in spread(step):
            for key, _ in self._resolved(path, step):
                self._take(key, self._span((*step.path, "inputs_from"), step=step, exact=False))
        target = jump_of(step)[0]
        if target is not None:
            inner = () if isinstance(step.raw.get("next"), str) else ("step",)
            self._take((STEP, None, target), self._span((*step.path, "next", *inner), step=step))
        for block in step.blocks:
            onward = None if block.block is None else block.block.jump
            if isinstance(onward, str):
                self._take((STEP, None, onward), self._span(block.path, step=step, exact=False))

    def _resolved(self, path: Sequence[str], step: StepNode | None) -> Iterator[tuple[Key, int]]:
        """Yield what a path of a template names, each with the number of the segment that is its name."""
        names, head = self._walk.env.names, path[0]
        if head == SCOPE and head not in names:
            yield from self._in_scope(path)
            return
        start = 0
        if head == STEP and head not in names and len(path) > 1:
            start, head = 1, path[1]
        owner = self._book.by_id.get(head)
        if owner is not None:
            yield (STEP, None, head), start
            below = start + (1 if owner.fields.for_each is None else 2)
            if len(path) > below:
                yield (OUTPUT, head, path[below]), below
            return
        entry = names.get(head)
        setters = {one.id for one in entry.steps()} if entry is not None else set()
        yield from (((OUTPUT, setter, head), 0) for setter in sorted(setters))
        if not setters:
            yield (INPUT, None, head), 0
            yield (CONSTANT, None, head), 0
            while step is not None:
                yield (ITEM, step.id, head), 0
                step = step.within.owner if step.within is not None else None

    def _in_scope(self, path: Sequence[str]) -> Iterator[tuple[Key, int]]:
        segments = [part for segment in path[1:] for part in segment.split("/")]
        found = self._walk.env.scope(segments)
        if found is not None and 0 < found[1] <= len(segments):
            number = found[1] if len(segments) == len(path) - 1 else 0
            yield from (((OUTPUT, step.id, segments[found[1] - 1]), number) for step in found[0].steps())

    # -- places --------------------------------------------------------------------------------------------------

    def _span(
        self,
        path: Path,
        *,
        key: bool = False,
        step: StepNode | None = None,
        exact: bool = True,
        document: Document | None = None,
    ) -> SymbolPlace:
        document = document or self._document
        line, column, end_line, end_column = document.span(path, key=key)
        return SymbolPlace(
            file=document.file,
            path=path,
            line=line,
            column=column,
            end_line=end_line,
            end_column=end_column,
            step=None if step is None else step.id,
            exact=exact,
        )

    def _in_text(
        self, text: TemplateText, reference: Reference, segment: int, step: StepNode | None, offset: int | None
    ) -> SymbolPlace:
        """Return the place of a segment that ends at an offset; that of the text when it is spelled in another way."""
        path, name = (*text.path, *reference.where), reference.path[segment]
        if offset is not None:
            line, column = self._document.locate(path)
            begin = offset - len(name)
            line, column = position_in_value(self._document, path, line=line, column=column, offset=begin)
            if self._document.source_line(line).startswith(name, column - 1):  # else it is behind escapes or folding
                place: dict[str, Any] = {"line": line, "column": column, "end_line": line}
                place |= {"end_column": column + len(name), "step": None if step is None else step.id}
                return SymbolPlace(file=self._document.file, path=path, **place)
        return self._span(path, step=step, exact=False)


def _offset(text: str, spelled: str, begin: int, *, nth: int) -> int | None:
    """Return where a variable ends that is spelled out in a text; None when it is not.

    ``begin`` is where the variable is, or only its expression, which read it ``nth`` times before.
    """
    if text.startswith(f".{spelled}", begin):
        return begin + 1 + len(spelled)
    end = text.find("}}", begin)
    for word in _WORDS.finditer(text, begin, len(text) if end < 0 else end):
        found = word[0].removeprefix(".")
        if found == spelled or found.startswith(f"{spelled}."):
            if nth == 0:
                return word.end() - len(found) + len(spelled)
            nth -= 1
    return None


__all__ = ["RunbookSymbol", "SymbolPlace", "symbols_of"]
