"""Write a graph as an SVG by its own layout: no script, no font and nothing from elsewhere; same input, same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.graph.layout import GAP, Layout
from gert_core.graph.pieces import at, clean, line, number, quoted, words
from gert_core.graph.sizes import CODE, PROSE, fit, lines_of, text_width
from gert_core.graph.styles import COLOURS

if TYPE_CHECKING:
    from gert_core.graph.model import Graph

_MARGIN: Final = 24.0
_HEAD: Final = 520.0
_STYLE: Final = """\
svg { background: #ffffff; }
text { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #57606a; }
text.head { font-size: 16px; font-weight: 700; fill: #1f2328; }
text.name { font-size: 13px; font-weight: 700; fill: #1f2328; }
text.prose { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
text.when { fill: #9a6700; }
text.status { font-weight: 700; }
.box { fill: #f6f8fa; stroke: #6e7781; stroke-width: 1.4; }
.one_of .box { fill: #fff8c5; stroke: #9a6700; }
.all_of .box, .bars { fill: #ddf4ff; stroke: #0969da; }
.in_order .box { fill: #fbefff; stroke: #8250df; }
.terminal .box { fill: #eaeef2; stroke: #424a53; stroke-width: 2; }
.guarded .box { stroke-dasharray: 5 4; }
.bars { stroke-width: 1.4; fill: none; }
.way { fill: none; stroke: #6e7781; stroke-width: 1.4; stroke-linejoin: round; }
.jump { stroke: #8250df; }
.soft { stroke-dasharray: 4 4; }
.around { fill: #8250df; fill-opacity: .04; stroke: #8250df; stroke-opacity: .35; }
.frame { fill: #ffffff; stroke: #d0d7de; stroke-width: 1.2; }
.cleanup { fill: #fff5f5; stroke: #cf8a8a; stroke-dasharray: 6 4; }
.included { stroke: #0969da; stroke-opacity: .5; }
.repeats { stroke: #8250df; stroke-opacity: .6; }
.tag { fill: #ffffff; }
.dot { fill: #424a53; }
"""
_DARK: Final = """\
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; }
text { fill: #9198a1; }
text.head, text.name { fill: #f0f6fc; }
text.when { fill: #d29922; }
.box { fill: #161b22; stroke: #9198a1; }
.one_of .box { fill: #272115; stroke: #d29922; }
.all_of .box { fill: #10233a; stroke: #4493f8; }
.bars { stroke: #4493f8; }
.in_order .box { fill: #241c37; stroke: #ab7df8; }
.terminal .box { fill: #21262d; stroke: #d1d7e0; }
.frame { fill: #0d1117; stroke: #3d444d; }
.cleanup { fill: #1c1214; stroke: #9e4c50; }
.included { stroke: #4493f8; }
.repeats, .jump { stroke: #ab7df8; }
.way { stroke: #9198a1; }
.tag { fill: #0d1117; }
.dot { fill: #d1d7e0; }
}
"""


def render_svg(graph: Graph) -> str:
    """Return the document."""
    first, *cleanup = graph.blocks
    layout = Layout(run=bool(graph.run_id))
    main = layout.steps(first.steps)
    y = _MARGIN + 20
    title = fit(clean(graph.name), _HEAD, 16)
    parts = [words(_MARGIN, y, title, "head")]
    wide, last = text_width(title, 16), ""
    for text, style, advance in ((graph.description, "prose", PROSE), (_of_run(graph), "status", CODE)):
        for shown in lines_of(clean(text), _HEAD, 11, advance, most=3) if text else ():
            y += 19 if style != last else 16
            last = style
            parts.append(words(_MARGIN, y, shown, style))
            wide = max(wide, text_width(shown, 11, advance))
    extra = [layout.frame(block) for block in cleanup]
    axis = max(piece.axis for piece in (main, *extra))
    body = axis + max(piece.width - piece.axis for piece in (main, *extra))
    width = max(body, wide)
    axis += (width - body) / 2 + _MARGIN
    y += 26
    parts.append(f'<circle cx="{number(axis)}" cy="{number(y)}" r="6" class="dot"/>')
    parts.append(line([(axis, y + 6), (axis, y + GAP - 1)]))
    y += GAP
    parts += at(axis - main.axis, y, main.parts)
    y += main.height
    for piece in extra:
        parts.append(line([(axis, y), (axis, y + GAP - 1)], style="way soft"))
        y += GAP
        parts += at(axis - piece.axis, y, piece.parts)
        y += piece.height
    return _document(width + 2 * _MARGIN, y + _MARGIN, parts, label=clean(f"Graph of the runbook {graph.name}"))


def _of_run(graph: Graph) -> str:
    return f"run {graph.run_id}: {graph.run_status}" if graph.run_id else ""


def _document(width: float, height: float, parts: list[str], *, label: str) -> str:
    w, h = number(width), number(height)
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    tip = f'<marker id="tip" {size} orient="auto-start-reverse">'
    statuses = "".join(
        f".step.{name} .box {{ fill: {fill}; }}\n.step.{name} .box, .step.{name} .bars {{ stroke: {stroke}; }}\n"
        f".step.{name} text {{ fill: {text}; }}\n"
        for name, (fill, stroke, text) in COLOURS.items()
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img">',
            f"<title>{quoted(label)}</title>",
            f"<style>\n{_STYLE}{_DARK}{statuses}</style>",
            f'<defs>{tip}<path d="M0 0L8 4L0 8Z" class="dot"/></marker></defs>',
            *parts,
            "</svg>\n",
        ]
    )


__all__ = ["render_svg"]
