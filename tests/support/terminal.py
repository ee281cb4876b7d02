"""Runs ``gert`` on a controlling terminal of a given width, as a person's shell does, and answers what it asks."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

from gertproc import COMMAND

if TYPE_CHECKING:
    from gertproc import Gert

_LONGEST = 60.0
# Makes the terminal the one that controls the session, as a login does, and goes on as the command.
_ATTACH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """One command on a terminal of its own; ``seen`` is everything that appeared on it."""

    def __init__(
        self, gert: Gert, *argv: str, columns: int = 80, typed: str = "", raw: bool = False, **environ: str
    ) -> None:
        self._ours, theirs = pty.openpty()
        if raw:  # everything that was typed is given at once, not line by line
            tty.setraw(theirs)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        if typed:  # before gert is there
            os.write(self._ours, typed.encode())
        self.seen = ""
        self.code: int | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ATTACH, *COMMAND, *argv],
            cwd=gert.root,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=gert.environ | {"TERM": "xterm", "NO_COLOR": "1"} | environ,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        os.close(self._ours)

    @property
    def lines(self) -> list[str]:
        """What appeared, line by line."""
        return self.seen.replace("\r\n", "\n").split("\n")

    def until(self, text: str) -> Terminal:
        """Wait until a text appears; fail when the command ends or takes too long instead."""
        until = time.monotonic() + _LONGEST
        while text not in self.seen:
            assert time.monotonic() < until, f"no {text!r} within {_LONGEST} seconds: {self.seen}"
            assert self._read(), f"it ended without {text!r}: {self.seen}"
        return self

    def type(self, text: str) -> Terminal:
        """Type a text; what was seen before is forgotten, so that ``until`` waits for what follows."""
        self.seen = ""
        os.write(self._ours, text.encode())
        return self

    def end(self) -> str:
        """Wait for the end of the command and return what is on the screen."""
        until = time.monotonic() + _LONGEST
        while self._read():
            assert time.monotonic() < until, self.seen
        self.code = self._process.wait(10)
        return self.seen

    def _read(self) -> bool:
        if self._ours not in select.select([self._ours], [], [], 1.0)[0]:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # nobody has it open any more
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)


__all__ = ["Terminal"]
