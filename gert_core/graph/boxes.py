"""Draw single steps of an SVG: a box whose shape is the step's flow, with what there is to say about the step."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from gert_core.graph.pieces import Piece, clean, number, quoted, words
from gert_core.graph.sizes import CODE, PROSE, fit, lines_of, text_width
from gert_core.graph.styles import style_of
from gert_core.graph.text import remarks, title

if TYPE_CHECKING:
    from gert_core.graph.model import GraphStep

LEAST: Final = 150.0
MOST: Final = 290.0
_PADDING: Final = 14.0
_POINT: Final = 16.0
"""How far the points of a choice stand out on both sides."""


class _Row:
    """One line of a box, before it is placed."""

    __slots__ = ("advance", "size", "style", "text")

    def __init__(self, text: str, style: str, size: float, advance: float = CODE) -> None:
        self.text, self.style, self.size, self.advance = text, style, size, advance

    @property
    def width(self) -> float:
        return text_width(self.text, self.size, self.advance)


def box(step: GraphStep, *, run: bool) -> Piece:
    """Return the box of a step; ``run``: a run is shown, so that a step without a status did not run."""
    room = MOST - 2 * _PADDING
    rows = _rows(step, room, run=run)
    width = min(max([LEAST, *(row.width + 2 * _PADDING for row in rows)]), MOST)
    height = 14.0 + sum(row.size + 6 for row in rows)
    out = _POINT if step.flow == "one_of" else 0.0
    full = width + 2 * out
    state = f" {style_of(step.status)}" if run else ""
    dashed = " guarded" if step.guarded else ""
    parts = [f'<g class="step {step.flow}{dashed}{state}">', f"<title>{quoted(_tip(step))}</title>"]
    parts += _shape(step, full, height)
    y = 8.0
    for row in rows:
        y += row.size + 6
        parts.append(words(full / 2, y - 3, row.text, row.style, anchor="middle"))
    return Piece(
        width=full,
        height=height,
        axis=full / 2,
        parts=[*parts, "</g>"],
        right=full,
        middle=height / 2,
        leaves=step.continues,
    )


def _tip(step: GraphStep) -> str:
    # Not the whole path: the picture must not depend on where it is made.
    texts = [title(step), *remarks(step), f"{PurePath(step.file).name}:{step.line}"]
    return " | ".join(map(clean, texts))


def _rows(step: GraphStep, room: float, *, run: bool) -> list[_Row]:
    name = clean(step.step_id if step.named else step.detail or step.type)
    rows = [_Row(text, "name", 13) for text in lines_of(name, room, 13, most=2)]
    kind = f"{step.type} · {step.detail}" if step.detail and step.named else step.type
    rows.append(_Row(fit(clean(kind), room, 11), "kind", 11))
    if step.description:
        rows += [_Row(text, "prose", 11, PROSE) for text in lines_of(clean(step.description), room, 11, PROSE, most=2)]
    for text in [f"when {step.when}"] if step.when else []:
        rows += [_Row(part, "when", 11) for part in lines_of(clean(text), room, 11, most=2)]
    if step.loop:
        rows += [_Row(part, "note", 11) for part in lines_of(clean(step.loop), room, 11, most=2)]
    if step.notes:
        rows += [_Row(p, "prose", 11, PROSE) for p in lines_of(clean("; ".join(step.notes)), room, 11, PROSE, most=3)]
    if run and step.status:
        times = f", {step.runs} times" if step.runs > 1 else ""
        rows.append(_Row(clean(f"{step.status}{times}"), "status", 11))
    return rows


def _shape(step: GraphStep, width: float, height: float) -> list[str]:
    w, h = number(width), number(height)
    if step.flow == "one_of":
        p, q = number(_POINT), number(width - _POINT)
        return [
            f'<path class="box" d="M{p} 0L{q} 0L{w} {number(height / 2)}L{q} {h}L{p} {h}L0 {number(height / 2)}Z"/>'
        ]
    radius = number(min(height / 2, 22)) if step.flow == "terminal" else "7"
    parts = [f'<rect class="box" width="{w}" height="{h}" rx="{radius}"/>']
    if step.flow == "all_of":
        parts.append(f'<path class="bars" d="M10 0L10 {h}M{number(width - 10)} 0L{number(width - 10)} {h}"/>')
    if step.loop:
        # A second sheet behind the first one: the step runs once per item.
        parts.insert(0, f'<rect class="box sheet" x="5" y="5" width="{w}" height="{h}" rx="{radius}"/>')
    return parts


__all__ = ["LEAST", "MOST", "box"]
