"""How wide texts are in an SVG, without a font: generous enough that none leaves its box."""

from __future__ import annotations

from typing import Final

from gert_core.kit.escaping import cells, cut, wrap

CODE: Final = 0.602
"""The width of a character of any monospaced font, as a part of its size."""
PROSE: Final = 0.56
"""The same of a common sans-serif font, on average, rounded up."""


def text_width(text: str, size: float, advance: float = CODE) -> float:
    """Return the width of a text in pixels."""
    return cells(text) * size * advance


def fit(text: str, width: float, size: float, advance: float = CODE) -> str:
    """Return a text that is at most so wide; dots stand for what is left out."""
    return cut(text, max(int(width / (size * advance)), 4))


def lines_of(text: str, width: float, size: float, advance: float = CODE, *, most: int) -> list[str]:
    """Return a text in at most ``most`` lines that are at most so wide; dots stand for what is left out."""
    room = max(int(width / (size * advance)), 4)
    parts = wrap(text, room)
    if len(parts) > most:
        parts = [*parts[: most - 1], cut("".join(parts[most - 1 :]), room)]
    return [part.rstrip() for part in parts]


__all__ = ["CODE", "PROSE", "fit", "lines_of", "text_width"]
