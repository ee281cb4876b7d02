"""Make the graph of a runbook from the flows and blocks of its steps; no step type is known by its name."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Final

from gert_core.api import CLEANUP_TIMEOUT
from gert_core.explain.words import (
    CONTINUES,
    JUMP,
    RETRY,
    as_condition,
    detail_of,
    gate_words,
    loop_words,
    notes_of,
    selection,
    without_braces,
)
from gert_core.graph.model import Graph, GraphBlock, GraphJump, GraphStep
from gert_core.kit.time_spans import duration_text
from gert_core.validation.domain.flow import FlowMap, guarded, jump_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Block
    from gert_core.documents.tree import BlockNode, Runbook, StepNode

_LONGEST: Final = 120
_LONGEST_NOTE: Final = 72
MAX_STEPS: Final = 20_000
"""The steps of a graph; runbooks may include each other so often that there would be many more."""


def build_graph(runbook: Runbook) -> Graph:
    """Return the graph of a runbook with everything it includes."""
    maker = _Maker()
    return Graph(
        name=runbook.name,
        file=runbook.document.file,
        description=runbook.model.meta.description or "",
        blocks=maker.lists(runbook, ""),
    )


class _Maker:
    def __init__(self) -> None:
        self._flows: dict[str, FlowMap] = {}
        self._left = MAX_STEPS

    def lists(self, book: Runbook, prefix: str) -> tuple[GraphBlock, ...]:
        return tuple(self._block(book, block, prefix) for block in book.lists)

    def _block(self, book: Runbook, node: BlockNode, prefix: str, owner: StepNode | None = None) -> GraphBlock:
        flow = self._flow(book).of(node)
        places = {step.id: step for step in node.steps}
        steps = []
        for index, step in enumerate(node.steps):
            continues = index + 1 in flow.follow[index]
            steps.append(self._step(book, step, prefix, continues=continues, places=places))
        block = node.block
        jump = str(block.jump) if block is not None and block.jump else ""
        around = {step.id for step in owner.within.steps} if owner is not None and owner.within is not None else set()
        # A jump of a block leads to a step of the list that its own step is in.
        outer = prefix.removesuffix("/").rpartition("/")[0]
        return GraphBlock(
            name=node.name,
            steps=tuple(steps),
            condition=selection(block.condition) if block is not None else "",
            label=_label(block) if block is not None else "",
            repeats=block is not None and block.runs[1] != 1,
            cleanup=node.cleanup,
            handles=node.handles,
            after=block.after if block is not None else (),
            jump=GraphJump(to=f"{outer}/{jump}" if outer else jump) if jump in around else None,
            falls=flow.falls,
        )

    def _step(
        self, book: Runbook, step: StepNode, prefix: str, *, continues: bool, places: dict[str, StepNode]
    ) -> GraphStep:
        self._left -= 1
        line, _ = book.document.locate(step.path)
        goal, most = jump_of(step)
        key = f"{prefix}{step.id}"
        blocks = [self._block(book, block, f"{key}/", step) for block in step.blocks] if self._left > 0 else []
        for number, node in enumerate(step.includes, len(step.blocks)):
            inside = f"{key}/{number}/" if len(step.includes) > 1 else f"{key}/"
            blocks += self._included(node, inside) if self._left > 0 else []
        bound = "" if most is None else f"max {as_condition(most)}"
        return GraphStep(
            key=key,
            step_id=step.id,
            named=step.named,
            type=step.type.name,
            flow=str(step.type.flow),
            line=line,
            file=book.document.file,
            description=step.fields.description or "",
            detail=shorten(without_braces(detail_of(book, step)), _LONGEST, placeholder=" …"),
            when=as_condition(step.fields.when) if guarded(step) else "",
            loop=loop_words(step),
            notes=tuple(_notes(book, step)),
            continues=continues,
            jump=GraphJump(to=f"{prefix}{goal}", label=bound) if goal in places else None,
            blocks=tuple(blocks),
        )

    def _included(self, node: BlockNode, prefix: str) -> Sequence[GraphBlock]:
        if node.included is None:
            return []
        book = node.included.runbook
        first, *cleanup = self.lists(book, prefix)
        # Its `end` ends the included runbook, not the run around it.
        return [_with_file(first, node.name), *(_with_file(block, "") for block in cleanup)]

    def _flow(self, book: Runbook) -> FlowMap:
        found = self._flows.get(book.document.file)
        if found is None:
            found = self._flows[book.document.file] = FlowMap(book)
        return found


def _with_file(block: GraphBlock, file: str) -> GraphBlock:
    from msgspec.structs import replace

    return replace(block, included=file, falls=True)


def _label(block: Block) -> str:
    """Return how often a block runs, or how long cleanup may take that says so."""
    if block.cleanup and block.timeout != CLEANUP_TIMEOUT:
        return f"within {duration_text(block.timeout)}"
    return without_braces(block.label)


def _notes(book: Runbook, step: StepNode) -> list[str]:
    notes = []
    if (gate := book.functions.gate(step)) is not None:
        asked = shorten(without_braces(gate.message or ""), _LONGEST_NOTE, placeholder=" …")
        notes += [f"asks: {asked}"] if asked else []
        notes.append(f"demands {without_braces(gate_words(gate))}")
    for word, text in notes_of(book, step):
        if word == RETRY:
            notes.append(text)
        elif word == CONTINUES:
            notes.append("goes on after a failure")
        elif word != JUMP:  # it is drawn
            notes.append(f"{word} {without_braces(text)}")
    return notes


__all__ = ["MAX_STEPS", "build_graph"]
