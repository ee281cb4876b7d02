"""Draw a graph as a tree of lines for a terminal; what does not fit into a line continues in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.kit.escaping import cells, escape, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gert_core.graph.model import Graph, GraphBlock, GraphStep

    Paint = Callable[[str, str], str]
    """Gives a text the colour of a status."""

_LEAST: Final = 24
"""Columns that a text has in any case, however deep it stands."""


_FORK, _LAST, _PIPE, _SPACE = "├─ ", "└─ ", "│  ", "   "
_BACK: Final = "↩"
_FLOWS: Final = {"one_of": "◇", "all_of": "‖", "in_order": "▣", "terminal": "■"}
_STATUSES: Final = {"success": "✓", "failed": "✗", "error": "✗", "skipped": "○", "running": "→"}
_WAITING: Final = "…"


def render_text(graph: Graph, *, width: int = 80, paint: Paint | None = None) -> list[str]:
    """Return the lines of a graph, each at most ``width`` columns wide as long as its depth allows it."""
    return list(_Tree(graph, width, paint or _uncoloured).lines())


def _uncoloured(text: str, status: str) -> str:
    return text


class _Tree:
    def __init__(self, graph: Graph, width: int, paint: Paint) -> None:
        self._graph = graph
        self._width = width
        self._paint = paint

    def lines(self) -> Iterator[str]:
        graph = self._graph
        head = f"{graph.name} ({graph.file})"
        if graph.run_id:
            head += f", run {graph.run_id}: {graph.run_status}"
        yield from self._wrapped([head, *([graph.description] if graph.description else [])], "", "")
        first, *cleanup = graph.blocks
        rows: list[GraphStep | GraphBlock] = [*first.steps, *cleanup]
        yield from self._rows(rows, "")

    def _rows(self, rows: Sequence[GraphStep | GraphBlock], lead: str) -> Iterator[str]:
        from gert_core.graph.model import GraphStep

        for number, row in enumerate(rows):
            last = number + 1 == len(rows)
            first, rest = lead + (_LAST if last else _FORK), lead + (_SPACE if last else _PIPE)
            if isinstance(row, GraphStep):
                yield from self._step(row, first, rest)
            else:
                yield from self._block(row, first, rest)

    def _step(self, step: GraphStep, first: str, rest: str) -> Iterator[str]:
        below = _PIPE if _children(step) else _SPACE
        head = title(step)
        if step.flow in _FLOWS:
            head = f"{_FLOWS[step.flow]} {head}"
        status = ""
        if self._graph.run_id and step.status:
            mark = _STATUSES.get(step.status, _WAITING)
            status, head = step.status, f"{mark} {head}"
        texts = [head, *remarks(step)]
        if step.runs > 1:
            texts.append(f"{step.status}, {step.runs} times")
        elif status and status not in _STATUSES:
            texts.append(status)
        if step.jump is not None:
            texts.append(f"{_BACK} goes on at {_name(step.jump.to)}" + _bound(step.jump.label))
        yield from self._wrapped(texts, first, rest + below, status=status)
        yield from self._rows(_children(step), rest)

    def _block(self, block: GraphBlock, first: str, rest: str) -> Iterator[str]:
        below = _PIPE if block.steps else _SPACE
        texts = [block_title(block)]
        if not block.steps:
            texts[0] += ": nothing to do"
        if block.jump is not None:
            texts.append(f"{_BACK} goes on at {_name(block.jump.to)}")
        yield from self._wrapped(texts, first, rest + below)
        yield from self._rows(block.steps, rest)

    def _wrapped(self, texts: Sequence[str], first: str, rest: str, *, status: str = "") -> Iterator[str]:
        lead, colour = first, status
        for text in texts:
            for part in wrap(escape(_one_line(text)), max(self._width - cells(rest), _LEAST)):
                yield f"{lead}{self._paint(part.rstrip(), colour)}" if colour else f"{lead}{part}".rstrip()
                lead = rest
            colour = ""


def _children(step: GraphStep) -> Sequence[GraphStep | GraphBlock]:
    """Return what stands below a step: its blocks, or the steps of the only one that says nothing more."""
    if len(step.blocks) == 1:
        block = step.blocks[0]
        if not (block.condition or block.label or block.included or block.cleanup or block.after or block.jump):
            return block.steps
    return step.blocks


def title(step: GraphStep) -> str:
    """Return the first line about a step: its id, its type and what it does."""
    name = f"{step.step_id}: {step.type}" if step.named else step.type
    return f"{name} {step.detail}" if step.detail else name


def remarks(step: GraphStep) -> list[str]:
    """Return the further lines about a step."""
    found = [f"when {step.when}"] if step.when else []
    if step.loop:
        found.append(step.loop)
    found += step.notes
    if step.description:
        found.append(step.description)
    return found


def block_title(block: GraphBlock) -> str:
    """Return the line about a block: its name, its condition, how often it runs, what it waits for."""
    if block.included:
        return f"runbook {block.included}"
    parts = [block.name] if block.name else []
    if block.condition and block.condition != block.name:
        parts.append(block.condition)
    if block.label:
        parts.append(block.label)
    if block.after:
        parts.append(f"after {', '.join(block.after)}")
    if block.cleanup:
        parts.append("after a failure" if block.handles else "in any case")
    return ": ".join((parts[0], ", ".join(parts[1:]))) if len(parts) > 1 else "".join(parts) or "steps"


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _bound(label: str) -> str:
    return f" ({label})" if label else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


__all__ = ["block_title", "remarks", "render_text", "title"]
