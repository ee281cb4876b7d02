"""Show what a tool writes while it writes it: its last line, and with ``-v`` every line behind the step's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.cli.render.terminal import escape
from gert_core.kit.escaping import is_visible
from gert_core.secrets.live import LiveMask

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.cli.render.live import Leaf
    from gert_core.secrets.live import Scheduler
    from gert_core.secrets.masker import Masker

_SIGNS: Final = {"stderr": "!"}
_LAST: Final = 2000
"""How many characters at the end of what was written may have the last line."""
_LINES: Final = re.compile(r"\r\n|\n|\r")


class ShownOutput:
    """The output of one call of a tool; ``printed`` is given whole lines, ``leaf`` has the last one."""

    __slots__ = ("_leaf", "_mask", "_name", "_open", "_printed", "feed")

    def __init__(
        self, masker: Masker, later: Scheduler, *, name: str, leaf: Leaf | None, printed: Callable[[str], None] | None
    ) -> None:
        self._mask = LiveMask(masker, self._take, later)
        self.feed = self._mask.feed
        self._name = escape(name)
        self._leaf = leaf
        self._printed = printed
        self._open: dict[str, str] = {}
        """By stream the line that has not ended."""

    def close(self) -> None:
        """Show the rest; a line may have no end."""
        self._mask.close()
        for stream, text in self._open.items():
            if text and self._printed is not None:
                self._printed(f"{self._lead(stream)}{visible(text)}\n")
        self._open.clear()

    def _take(self, stream: str, text: str, partial: bool) -> None:
        """Take masked text: whole lines, or a line as far as it goes."""
        before = self._open.get(stream, "")
        if self._leaf is not None:
            self._leaf.line = _last(before + text if len(text) < _LAST else text) or self._leaf.line
        if self._printed is not None:
            self._open[stream] = _print_lines(before + text, self._lead(stream), self._printed)
        elif partial:
            self._open[stream] = (before + text)[-_LAST:]
        elif before:
            del self._open[stream]

    def _lead(self, stream: str) -> str:
        return f"{self._name} {_SIGNS.get(stream, '|')} "


def _print_lines(text: str, lead: str, printed: Callable[[str], None]) -> str:
    """Print the lines that have ended, each behind ``lead``; return the rest."""
    end = text.rfind("\n")
    if end >= 0 and "\r" not in text and is_visible(text[:end].replace("\n", "")):  # nothing in it needs care
        printed(f"{lead}{text[:end].replace(chr(10), chr(10) + lead)}\n")
        return text[end + 1 :]
    *lines, rest = _LINES.split(text)
    if lines:
        printed("".join(f"{lead}{visible(line)}\n" for line in lines))
    return rest


def _last(text: str) -> str:
    """Return the last line that is not empty."""
    return next((visible(line) for line in reversed(_LINES.split(text[-_LAST:])) if line.strip()), "")


def visible(line: str) -> str:
    """Return a line in which every character is seen; tabs are blanks."""
    return escape(line.expandtabs(8)).rstrip()


__all__ = ["ShownOutput", "visible"]
