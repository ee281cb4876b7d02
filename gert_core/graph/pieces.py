"""The pieces that an SVG of a graph is laid out with: a size, the line on which the run passes, and what is drawn."""

from __future__ import annotations

from html import escape as html_escape
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gert_core.graph.sizes import text_width
from gert_core.kit.escaping import escape

if TYPE_CHECKING:
    from collections.abc import Sequence


class Piece(Struct, kw_only=True):
    """Something drawn in a rectangle that starts at 0, 0; the run enters and leaves it at ``axis``."""

    width: float
    height: float
    axis: float
    parts: list[str] = field(default_factory=list)
    right: float = 0.0
    """Where its first box ends on the right, for jumps."""
    middle: float = 0.0
    """The middle of its first box, for jumps."""
    leaves: bool = True
    """Whether the run may go on below it."""


def number(value: float) -> str:
    """Return a coordinate with at most one decimal, always spelled the same."""
    text = f"{value:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("-0.0", "0.0") else text.removesuffix(".0")


def at(x: float, y: float, parts: Sequence[str]) -> list[str]:
    """Return parts moved to a place."""
    return [f'<g transform="translate({number(x)} {number(y)})">', *parts, "</g>"]


def clean(text: str) -> str:
    """Return a text as one line in which every character is seen; it can be measured and cut."""
    return escape(" ".join(text.split()))


def quoted(text: str) -> str:
    """Return a clean text as XML."""
    return html_escape(text)


def words(x: float, y: float, text: str, style: str, *, anchor: str = "") -> str:
    """Return a line of clean text."""
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{number(x)}" y="{number(y)}" class="{style}"{placed}>{quoted(text)}</text>'


def line(points: Sequence[tuple[float, float]], *, arrow: bool = True, style: str = "way") -> str:
    """Return a way along points."""
    (x, y), *rest = points
    path = f"M{number(x)} {number(y)}" + "".join(f"L{number(a)} {number(b)}" for a, b in rest)
    tip = ' marker-end="url(#tip)"' if arrow else ""
    return f'<path d="{path}" class="{style}"{tip}/>'


def label(x: float, y: float, text: str, size: float = 11.0) -> list[str]:
    """Return a clean text on a way, with what is behind it hidden; ``x`` is its middle."""
    width = text_width(text, size) + 10
    box = f'x="{number(x - width / 2)}" y="{number(y - 12)}" width="{number(width)}" height="17"'
    return [f'<rect {box} rx="4" class="tag"/>', words(x, y, text, "note", anchor="middle")]


__all__ = ["Piece", "at", "clean", "label", "line", "number", "quoted", "words"]
