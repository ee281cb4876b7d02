"""Write a graph as a Mermaid flowchart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.graph.edges import START, edges
from gert_core.graph.styles import COLOURS, style_of
from gert_core.graph.text import block_title, remarks, title
from gert_core.kit.escaping import cut, escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.graph.model import Graph, GraphBlock, GraphStep

_SHAPES: Final = {
    "leaf": ("[", "]"),
    "one_of": ("{", "}"),
    "all_of": ("[[", "]]"),
    "in_order": ("[", "]"),
    "terminal": ("([", "])"),
}
_LONGEST: Final = 120
_ENTITIES: Final = str.maketrans({char: f"#{ord(char)};" for char in "#\"'<>&`\\{}[]()|%;"})


def render_mermaid(graph: Graph) -> str:
    """Return the text of a flowchart; characters with a meaning in Mermaid are written as entities."""
    names = {step.key: f"s{number}" for number, step in enumerate(graph.walk(), start=1)}
    lines = ["flowchart TD", "  s0((( )))"]
    first, *cleanup = graph.blocks
    lines += _steps(first.steps, names, "  ")
    for block in cleanup:
        lines += _cluster(block, names, "  ")
    for edge in edges(graph):
        arrow = "-.->" if edge.dashed else "-->"
        label = f'|"{_quoted(edge.label)}"|' if edge.label else ""
        start = "s0" if edge.start == START else names[edge.start]
        lines.append(f"  {start} {arrow}{label} {names[edge.end]}")
    lines += _classes(graph, names)
    return "\n".join(lines) + "\n"


def _steps(steps: Sequence[GraphStep], names: dict[str, str], lead: str) -> Iterator[str]:
    for step in steps:
        opening, closing = _SHAPES.get(step.flow, ("[", "]"))
        texts = [title(step), *remarks(step)]
        yield f'{lead}{names[step.key]}{opening}"{"<br>".join(map(_quoted, texts))}"{closing}'
        for block in step.blocks:
            yield from _cluster(block, names, lead)


def _cluster_title(block: GraphBlock) -> str:
    return block.name if block.condition else block_title(block)


def _cluster(block: GraphBlock, names: dict[str, str], lead: str) -> Iterator[str]:
    if not block.steps:
        return
    yield f'{lead}subgraph g{names[block.steps[0].key]}["{_quoted(_cluster_title(block))}"]'
    yield from _steps(block.steps, names, lead + "  ")
    yield f"{lead}end"


def _classes(graph: Graph, names: dict[str, str]) -> Iterator[str]:
    """Yield the styles: dashed for steps that may be skipped, colours for statuses."""
    guarded = [names[step.key] for step in graph.walk() if step.guarded]
    if guarded:
        yield "  classDef guarded stroke-dasharray: 5 4"
        yield f"  class {','.join(guarded)} guarded"
    if not graph.run_id:
        return
    by_style: dict[str, list[str]] = {}
    for step in graph.walk():
        by_style.setdefault(style_of(step.status), []).append(names[step.key])
    for style, members in sorted(by_style.items()):
        fill, stroke, text = COLOURS[style]
        yield f"  classDef {style} fill:{fill},stroke:{stroke},color:{text}"
        yield f"  class {','.join(members)} {style}"


def _quoted(text: str) -> str:
    return cut(escape(" ".join(text.split())), _LONGEST).translate(_ENTITIES)


__all__ = ["render_mermaid"]
