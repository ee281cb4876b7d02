"""What the tools of a run wrote, as lines: of all steps in the order they came, and of each step alone."""

from __future__ import annotations

from collections import deque
from typing import Final

KEPT: Final = 20_000
"""The most lines that are kept of all steps, and of each of them."""
NOTE: Final = "note"
"""The stream of lines that gert itself says."""


class OutputLine:
    """One line, and who wrote it."""

    __slots__ = ("key", "stream", "text")

    def __init__(self, key: str, stream: str, text: str) -> None:
        self.key = key
        self.stream = stream
        self.text = text


class OutputLines:
    """The lines of one run."""

    def __init__(self) -> None:
        self.every: deque[OutputLine] = deque(maxlen=KEPT)
        self._of: dict[str, deque[OutputLine]] = {}
        self._unfinished: dict[tuple[str, str], OutputLine] = {}
        self.dropped = 0
        """How many lines of all steps are not kept any more."""

    def of(self, key: str | None) -> deque[OutputLine]:
        """Return the lines of a step, or of all for None."""
        return self.every if key is None else self._of.get(key) or deque()

    def add(self, key: str, stream: str, text: str) -> None:
        """Take what a step wrote; the rest of a line that was not finished comes with its next text."""
        parts = text.split("\n")
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            if last and not part:
                break
            line = self._unfinished.pop((key, stream), None)
            if line is None:
                line = self._append(key, stream, _latest(part))
            else:
                line.text = _latest(line.text + part)
            if last:
                self._unfinished[key, stream] = line

    def note(self, key: str, text: str) -> None:
        """Add a line of gert's own."""
        self._append(key, NOTE, text)

    def _append(self, key: str, stream: str, text: str) -> OutputLine:
        line = OutputLine(key, stream, text)
        self.dropped += len(self.every) == KEPT
        self.every.append(line)
        if key:
            self._of.setdefault(key, deque(maxlen=KEPT)).append(line)
        return line


def _latest(text: str) -> str:
    """Return what a terminal would show of a line that begins again: the part behind its last carriage return."""
    if "\r" not in text:
        return text
    parts = [part for part in text.split("\r") if part]
    return (parts[-1] if parts else "") + ("\r" if text.endswith("\r") else "")


__all__ = ["KEPT", "NOTE", "OutputLine", "OutputLines"]
