"""Format named values for people: on one line where they fit, else line by line behind a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.cli.render.terminal import escape
from gert_core.hosting.closing import TAIL, last_lines
from gert_core.kit.display import value_lines
from gert_core.template.data import to_text

if TYPE_CHECKING:
    from collections.abc import Callable

_WIDTH: Final = 100


def named(name: str, value: object, *, indent: str, mask: Callable[[str], str] = str) -> list[str]:
    """Return ``name value``, or the name and below it the lines of the value; ``mask`` hides secrets in it.

    The value is masked as a whole: a secret of several lines is not found in a single one of them.
    """
    text = to_text(value)
    if not isinstance(value, str) and len(text) > _WIDTH:
        text = "\n".join(value_lines(value))
    lines = value_lines(mask(text))
    if len(lines) == 1:
        return [f"{indent}{name} {escape(lines[0])}"]
    return [f"{indent}{name}", *(f"{indent}  | {escape(line)}" for line in lines)]


def one_line(text: str) -> str:
    """Return a text with its lines joined."""
    return " ".join(text.split())


def tail(text: str, *, lines: int = TAIL) -> list[str]:
    """Return the last lines of a text, behind a line that states how many were left out, here or in the trace."""
    rows, total = last_lines(text, lines=lines)
    before = total - len(rows)
    return [f"… {before} line{'' if before == 1 else 's'} before", *rows] if before else rows


__all__ = ["named", "one_line", "tail"]
