"""Write a graph in the DOT language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.graph.edges import START, edges
from gert_core.graph.styles import COLOURS, style_of
from gert_core.graph.text import block_title, remarks, title
from gert_core.kit.escaping import cut, escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.graph.model import Graph, GraphBlock, GraphStep

_SHAPES: Final = {"leaf": "box", "one_of": "diamond", "all_of": "box", "in_order": "box", "terminal": "oval"}
_LONGEST: Final = 120


def render_dot(graph: Graph) -> str:
    """Return the text of a directed graph."""
    names = {step.key: f"s{number}" for number, step in enumerate(graph.walk(), start=1)}
    lines = [
        f"digraph {_quoted(graph.name)} {{",
        '  graph [fontname="sans-serif", fontsize=11, compound=true];',
        '  node [fontname="sans-serif", fontsize=11, style="rounded,filled", fillcolor="white"];',
        '  edge [fontname="sans-serif", fontsize=10];',
        '  s0 [shape=circle, label="", width=0.2, style=filled, fillcolor="black"];',
    ]
    first, *cleanup = graph.blocks
    lines += _steps(first.steps, names, "  ", run=bool(graph.run_id))
    for block in cleanup:
        lines += _cluster(block, names, "  ", run=bool(graph.run_id))
    for edge in edges(graph):
        given = [f"label={_quoted(edge.label)}"] if edge.label else []
        given += ["style=dashed"] if edge.dashed else []
        given += ["constraint=false"] if edge.back else []
        start = "s0" if edge.start == START else names[edge.start]
        lines.append(f"  {start} -> {names[edge.end]}{_attributes(given)};")
    return "\n".join([*lines, "}"]) + "\n"


def _steps(steps: Sequence[GraphStep], names: dict[str, str], lead: str, *, run: bool) -> Iterator[str]:
    for step in steps:
        style = "filled" if step.flow == "one_of" else "rounded,filled"
        given = [
            f"label={_quoted(title(step), *remarks(step))}",
            f"shape={_SHAPES.get(step.flow, 'box')}",
            f'style="{style},dashed"' if step.guarded else f'style="{style}"',
        ]
        if step.flow == "all_of":
            given.append("peripheries=2")
        if run:
            fill, stroke, text = COLOURS[style_of(step.status)]
            given.append(f'fillcolor="{fill}", color="{stroke}", fontcolor="{text}"')
        yield f"{lead}{names[step.key]}{_attributes(given)};"
        for block in step.blocks:
            yield from _cluster(block, names, lead, run=run)


def _cluster_title(block: GraphBlock) -> str:
    return block.name if block.condition else block_title(block)


def _cluster(block: GraphBlock, names: dict[str, str], lead: str, *, run: bool) -> Iterator[str]:
    if not block.steps:
        return
    yield f"{lead}subgraph cluster_{names[block.steps[0].key]} {{"
    yield f'{lead}  label={_quoted(_cluster_title(block))}; style="rounded"; color="#d0d7de";'
    yield from _steps(block.steps, names, lead + "  ", run=run)
    yield f"{lead}}}"


def _attributes(given: Sequence[str]) -> str:
    return f" [{', '.join(given)}]" if given else ""


def _quoted(*texts: str) -> str:
    lines = [cut(escape(" ".join(text.split())), _LONGEST) for text in texts]
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


__all__ = ["render_dot"]
