"""A command on a terminal of a given size, and its screen as a terminal emulator that knows nothing of gert sees it."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pyte
from ptys import LONGEST, OnPty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class Emulator(pyte.HistoryScreen):
    """A screen that keeps what scrolls off, and counts lines that did not fit."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__(columns, rows, history=100_000)
        self.wrapped = 0

    def draw(self, data: str) -> None:
        for char in data:
            before = self.cursor.y, self.cursor.x
            super().draw(char)
            self.wrapped += before[1] >= self.columns and self.cursor.x < before[1]


class OnScreen(OnPty):
    """One command on a terminal of its own."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        super().__init__(columns, rows)
        self.screen = Emulator(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._start(command, cwd=cwd, environ={**environ, "TERM": "xterm-256color"})

    @property
    def lines(self) -> list[str]:
        """The rows of the screen that are not empty."""
        return [row.rstrip() for row in self.screen.display if row.strip()]

    @property
    def everything(self) -> list[str]:
        """What scrolled off, and the screen."""
        above = ["".join(row[x].data for x in range(self.screen.columns)).rstrip() for row in self.screen.history.top]
        return [*above, *self.lines]

    @property
    def block(self) -> list[str]:
        """The rows of the live block: the last ones, from the summary on."""
        found = [number for number, line in enumerate(self.lines) if " done" in line and not line.startswith("  ")]
        return self.lines[found[-1] :] if found else []

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal, as a window manager does."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)
        os.kill(self.process.pid, signal.SIGWINCH)

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._ours, text.encode())

    def until(self, holds: Callable[[OnScreen], object]) -> OnScreen:
        """Wait until something holds for the screen; fail when the command ends or takes too long instead."""
        until = time.monotonic() + LONGEST
        while not holds(self):
            assert time.monotonic() < until, self.lines
            assert self._read(), f"it ended: {self.everything}"
        return self

    def frames(self, count: int) -> OnScreen:
        """Wait until the block has been drawn this many times more."""
        seen = self.raw.count(b"\x1b[J") + count
        return self.until(lambda screen: screen.raw.count(b"\x1b[J") >= seen)

    def end(self) -> OnScreen:
        """Wait for the end of the command."""
        until = time.monotonic() + LONGEST
        while self._read():
            assert time.monotonic() < until, self.lines
        self.code = self.process.wait(10)
        return self

    def _read(self) -> bool:
        data = self._data()
        if data:
            self.raw += data
            self._stream.feed(data)
        return data is not None


__all__ = ["OnScreen"]
