"""Show text from elsewhere on a terminal: every character visible, and no line wider than wanted."""

from __future__ import annotations

import os
import re
from typing import Final

_INVISIBLE: Final = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0\ufffc"
    "\u2d7f\U0001107f\U00011a47\U00011a99\U00013441\U00013442\U00016fe4\U0001bc9d\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Characters that Python takes for printable although nothing is seen of them: fillers, blanks, joiners, selectors,
and the mark of an object that is not there."""
_PICTURES: Final = "\U0001f000"
_WIDER: Final = re.compile("[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d356\U0001d360-\U0001d376]")
"""Trigrams, hexagrams and counting rods: two columns wide since Unicode 16, which not every Python knows."""
_COMMAND: Final = re.compile(r"^([ \t]*):(?=:)|##(?=\[)", re.MULTILINE)


def is_visible(text: str) -> bool:
    """Return whether every character of a text is seen as it is; line ends and tabs are not."""
    return text.isprintable() and (text.isascii() or _INVISIBLE.isdisjoint(text))


def escape(text: str, *, keep: str = "") -> str:
    r"""Spell out control characters, line ends, marks of direction and what is invisible (``\u200b``), except ``keep``.

    What a tool printed or an input holds is data: none of it may steer the terminal or hide. The spelling is JSON's.
    """
    return text if is_visible(text) else "".join(c if is_visible(c) or c in keep else _escaped(c) for c in text)


def spell_out(text: str, encoding: str) -> str:
    """Spell out characters that an encoding does not have, as ``escape`` does with those that cannot be seen."""
    return text if text.isascii() else "".join(c if _has(encoding, c) else _escaped(c) for c in text)


def without_commands(text: str) -> str:
    """Spell out what GitHub, where it runs the command, takes for a command: two colons first, or `##[` anywhere."""
    if ("::" not in text and "##[" not in text) or os.environ.get("GITHUB_ACTIONS") != "true":
        return text
    return _COMMAND.sub(lambda found: rf"{found[1]}\u003a" if found[1] is not None else r"#\u0023", text)


def cells(text: str) -> int:
    """Return how many columns a text takes at most; where terminals differ, the larger number."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def wrap(text: str, width: int) -> list[str]:
    """Return a line in parts of at most ``width`` columns, divided behind a blank where there is one.

    Together the parts are the line. Escape it first.
    """
    parts = []
    while cells(text) > width:
        end = max(_fitting(text, width), 1)
        blank = text.rfind(" ", 0, end) + 1
        end = blank if blank > end // 2 else end
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def cut(text: str, width: int) -> str:
    """Return a line of at most ``width`` columns; three dots stand for what is left out."""
    return text if cells(text) <= width else f"{text[: _fitting(text, max(width - 3, 0))]}..."


def _fitting(text: str, width: int) -> int:
    """Return how many characters fit."""
    taken = 0
    for number, char in enumerate(text):
        taken += _cells(char)
        if taken > width:
            return number
    return len(text)


def _cells(char: str) -> int:
    if char.isascii():
        return 1
    from unicodedata import east_asian_width

    wide = char >= _PICTURES or east_asian_width(char) in "WFA" or _WIDER.match(char) is not None
    return 2 if wide else 1


def _has(encoding: str, char: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


__all__ = ["cells", "cut", "escape", "is_visible", "spell_out", "without_commands", "wrap"]
