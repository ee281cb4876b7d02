"""Format named values for people: on one line where they fit, else line by line behind a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.cli.render.terminal import escape
from gert_core.hosting.closing import TAIL, last_lines
from gert_core.kit.display import value_lines
from gert_core.kit.excerpts import shorten
from gert_core.template.data import shown

if TYPE_CHECKING:
    from collections.abc import Callable

_WIDTH: Final = 100
_LONGEST: Final = 1024 * 1024
"""The most characters of a list or a map that are shown whole, as many as a template may give."""
_BEGINNING: Final = 5000
"""The characters that are shown of one that is longer."""


def named(name: str, value: object, *, indent: str, mask: Callable[[str], str] = str) -> list[str]:
    """Return ``name value``, or the name and below it the lines of the value; ``mask`` hides secrets in it.

    The value is masked as a whole: a secret of several lines is not found in a single one of them.
    """
    lines = value_lines(_text(value, mask))
    if len(lines) == 1:
        return [f"{indent}{name} {escape(lines[0])}"]
    return [f"{indent}{name}", *(f"{indent}  | {escape(line)}" for line in lines)]


def _text(value: object, mask: Callable[[str], str]) -> str:
    """Return a value as it is shown, masked; of what is larger than any value of a template, only the beginning."""
    text = shown(value)
    if isinstance(value, (dict, list, tuple)) and _WIDTH < len(text) <= _LONGEST:
        return mask("\n".join(value_lines(value)))
    whole = mask(text)
    if isinstance(value, str) or len(whole) <= _BEGINNING:
        return whole
    return f"{shorten(whole, _BEGINNING)} ({len(whole)} characters)"


def one_line(text: str) -> str:
    """Return a text with its lines joined."""
    return " ".join(text.split())


def tail(text: str, *, lines: int = TAIL) -> list[str]:
    """Return the last lines of a text, behind a line that states how many were left out, here or in the trace."""
    rows, total = last_lines(text, lines=lines)
    before = total - len(rows)
    return [f"… {before} line{'' if before == 1 else 's'} before", *rows] if before else rows


__all__ = ["named", "one_line", "tail"]
