"""Runs ``gert`` on a controlling terminal of a given width, as a person's shell does, and answers what it asks."""

from __future__ import annotations

import os
import sys
import time
import tty
from typing import TYPE_CHECKING

from gertproc import COMMAND
from ptys import LONGEST, OnPty

if TYPE_CHECKING:
    from gertproc import Gert

# Makes the terminal the one that controls the session, as a login does, and goes on as the command.
_ATTACH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal(OnPty):
    """One command on a terminal of its own; ``seen`` is everything that appeared on it."""

    def __init__(
        self, gert: Gert, *argv: str, columns: int = 80, typed: str = "", raw: bool = False, **environ: str
    ) -> None:
        super().__init__(columns, 24)
        if raw:  # everything that was typed is given at once, not line by line
            tty.setraw(self._theirs)
        if typed:  # before gert is there
            os.write(self._ours, typed.encode())
        self.seen = ""
        command = [sys.executable, "-c", _ATTACH, *COMMAND, *argv]
        self._start(command, cwd=gert.root, environ=gert.environ | {"TERM": "xterm", "NO_COLOR": "1"} | environ)

    @property
    def lines(self) -> list[str]:
        """What appeared, line by line."""
        return self.seen.replace("\r\n", "\n").split("\n")

    def until(self, text: str) -> Terminal:
        """Wait until a text appears; fail when the command ends or takes too long instead."""
        until = time.monotonic() + LONGEST
        while text not in self.seen:
            assert time.monotonic() < until, f"no {text!r} within {LONGEST} seconds: {self.seen}"
            assert self._read(), f"it ended without {text!r}: {self.seen}"
        return self

    def type(self, text: str) -> Terminal:
        """Type a text; what was seen before is forgotten, so that ``until`` waits for what follows."""
        self.seen = ""
        os.write(self._ours, text.encode())
        return self

    def end(self) -> str:
        """Wait for the end of the command and return what is on the screen."""
        until = time.monotonic() + LONGEST
        while self._read():
            assert time.monotonic() < until, self.seen
        self.code = self.process.wait(10)
        return self.seen

    def _read(self) -> bool:
        data = self._data()
        self.seen += (data or b"").decode("utf-8", "replace")
        return data is not None


__all__ = ["Terminal"]
