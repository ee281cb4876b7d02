"""Print lines to a stream and keep a block below them that is drawn anew several times in a second.

The few escape codes stand here: a library for this (rich is installed with Typer) takes longer to import than a short
run takes, and gert needs to move up, erase and print only.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

from gert_core.cli.render.terminal import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

_SIZE: Final = (80, 24)
"""Columns and rows where the stream does not tell."""


class Screen:
    """A stream, held back during dialogues; every method may be called from any thread."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.lock = threading.RLock()
        self.lost: OSError | None = None
        """The first error of the stream."""
        self._held = 0
        self._kept: list[str] = []
        self._closed = False
        self._block = ""
        """What is drawn below the lines."""
        self._rows = 0
        self._columns = 0
        """The width of the terminal when it was drawn."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal now."""
        try:
            columns, rows = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            return _SIZE
        return columns or _SIZE[0], rows or _SIZE[1]

    @property
    def drawable(self) -> bool:
        """Whether a block would be seen: not in a dialogue, and not after the end."""
        return not self._held and not self._closed

    def print(self, text: str) -> None:
        """Print lines above the block; during a dialogue they are kept until it is over."""
        with self.lock:
            self._kept.append(text)
            if self._closed or not self._held:
                self._release()

    def draw(self, lines: Sequence[str]) -> None:
        """Draw a block instead of the one that is there; no line is wider than the terminal."""
        with self.lock:
            if not self.drawable:
                return
            up, columns = self._up(), self.size[0]
            block = "\n".join(f"{line}\x1b[K" for line in lines)
            if block or self._rows:
                self._write(f"{up}{block}\x1b[J")
            self._block, self._rows, self._columns = block, len(lines), columns

    def hold(self, held: bool) -> None:
        """Hold back all output during a dialogue, or go on with it."""
        with self.lock:
            self._held += 1 if held else -1
            self._erase()
            if not self._held:
                self._release()

    def close(self) -> None:
        """Remove the block; what is printed from now on is written at once."""
        with self.lock:
            self._erase()
            self._closed = True
            self._release()

    def _release(self) -> None:
        text, self._kept = "".join(self._kept), []
        if not self._rows:
            self._write(text)
        elif self.size[0] == self._columns:  # the block stays where it is seen, until the next one is drawn
            self._write(f"{self._up()}\x1b[J{text}{self._block}")
        else:
            self._erase()
            self._write(text)

    def _erase(self) -> None:
        if self._rows:
            self._write(f"{self._up()}\x1b[J")
            self._block, self._rows = "", 0

    def _up(self) -> str:
        """Return what moves to the first row of the block."""
        return f"\r\x1b[{self._rows - 1}A" if self._rows > 1 else "\r" if self._rows else ""

    def _write(self, text: str) -> None:
        """Write to the stream; what cannot be written is lost: a run does not depend on who watches it."""
        if not text:
            return
        try:
            write_text(self.stream, text)
            self.stream.flush()
        except OSError as error:  # the reader has gone, the terminal was closed, the disk is full
            self.lost = self.lost or error


__all__ = ["Screen"]
