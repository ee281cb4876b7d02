"""The edges of a graph, for formats that lay it out themselves: which step follows which, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.graph.text import block_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.graph.model import Graph, GraphBlock, GraphStep

START = ""
"""The key of the beginning of the run."""


class Edge(Struct, frozen=True, kw_only=True):
    """One way from a step to another, by their keys."""

    start: str
    end: str
    label: str = ""
    dashed: bool = False
    back: bool = False
    """Whether it leads back: it must not decide about the order of the steps."""


Exit = tuple[str, str]
"""A step behind which the run goes on, and the label of the way out of it."""


def edges(graph: Graph) -> list[Edge]:
    """Return every edge, in the order of the documents; the first one leaves the beginning of the run."""
    found: list[Edge] = []
    first, *cleanup = graph.blocks
    _list(first.steps, [(START, "")], found)
    for block in cleanup:
        _cleanup(block, START, found)
    return found


def _list(steps: Sequence[GraphStep], entries: Iterable[Exit], found: list[Edge]) -> list[Exit]:
    """Add the edges of a list that is entered from these steps; return where the run goes on behind it."""
    ways = list(entries)
    known = {step.key for step in steps}
    arrivals: dict[str, list[Exit]] = {}
    for step in steps:
        _arrive(step, [*ways, *arrivals.pop(step.key, ())], found)
        exits, jumps = _through(step, found)
        for target, way in jumps:
            if target in known:
                arrivals.setdefault(target, []).append(way)
        if step.jump is not None:
            label = f"next, {step.jump.label}" if step.jump.label else "next"
            found += [Edge(start=start, end=step.jump.to, label=label, back=True) for start, _ in exits]
        ways = exits if step.continues else []
        if step.continues and not exits:  # it ends the run unless it is skipped
            ways = [(step.key, "otherwise")]
    return ways


def _arrive(step: GraphStep, ways: Iterable[Exit], found: list[Edge]) -> None:
    found += [Edge(start=start, end=step.key, label=label) for start, label in dict.fromkeys(ways)]


def _through(step: GraphStep, found: list[Edge]) -> tuple[list[Exit], list[tuple[str, Exit]]]:
    """Add the edges inside a step; return where the run goes on behind it, and the jumps of its blocks."""
    if not step.blocks:
        return ([] if step.flow == "terminal" else [(step.key, "")]), []
    exits: list[Exit] = []
    jumps: list[tuple[str, Exit]] = []
    if step.flow == "in_order":
        return _in_order(step, found), []
    ends: dict[str, list[Exit]] = {}
    for block in _ordered(step.blocks):
        label = block.condition if block.steps else block_title(block)
        entries = [end for name in block.after for end in ends.get(name, [])] or [(step.key, label)]
        left = _list(block.steps, entries, found) if block.steps else entries
        ends[block.name] = left
        if block.jump is not None:
            jumps += [(block.jump.to, way) for way in left]
        elif not any(block.name in other.after for other in step.blocks):
            exits += left
    return exits, jumps


def _in_order(step: GraphStep, found: list[Edge]) -> list[Exit]:
    ways: list[Exit] = [(step.key, "")]
    for block in step.blocks:
        if block.handles:
            ways += _cleanup(block, step.key, found) if block.falls else []
            continue
        inside = _list(block.steps, ways, found) if block.steps else ways
        if block.repeats and block.steps:
            found += [Edge(start=start, end=block.steps[0].key, label="again", back=True) for start, _ in inside]
        ways = [*inside, *_ends(block)] if block.included else inside
    return ways


def _ends(block: GraphBlock) -> list[Exit]:
    """Return the steps that end an included runbook, behind which the run around it goes on."""
    found: list[Exit] = []
    for step in block.steps:
        if step.flow == "terminal":
            found.append((step.key, ""))
        found += [way for inner in step.blocks if not inner.included for way in _ends(inner)]
    return found


def _cleanup(block: GraphBlock, start: str, found: list[Edge]) -> list[Exit]:
    """Add the edges of cleanup, which is entered from wherever the run failed or ended; return the ways out."""
    own: list[Edge] = []
    ways = _list(block.steps, [(start, "after a failure" if block.handles else "in any case")], own)
    found += [replace(edge, dashed=True) if edge.start == start else edge for edge in own]
    return ways


def _ordered(blocks: Sequence[GraphBlock]) -> list[GraphBlock]:
    """Return blocks so that each comes behind those it waits for; blocks in a circle keep their places."""
    done: set[str] = set()
    left, ordered = list(blocks), []
    while left:
        ready = [block for block in left if done.issuperset(block.after)] or left
        ordered += ready
        done.update(block.name for block in ready)
        left = [block for block in left if block not in ready]
    return ordered


__all__ = ["START", "Edge", "edges"]
