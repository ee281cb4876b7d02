"""A command on a pseudo-terminal of its own: starting it, reading what it shows, and ending it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LONGEST = 60.0
"""The most seconds that something is waited for."""


class OnPty:
    """One command on a terminal of its own, of a given size."""

    def __init__(self, columns: int, rows: int) -> None:
        self.code: int | None = None
        self._ours, self._theirs = pty.openpty()
        self._set_size(columns, rows)

    def _start(self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            list(command),
            cwd=cwd,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env=environ,
            start_new_session=True,
        )
        os.close(self._theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        os.close(self._ours)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _data(self) -> bytes | None:
        """What was shown within a second; None when nobody has the terminal open any more."""
        if self._ours not in select.select([self._ours], [], [], 1.0)[0]:
            return b""
        try:
            return os.read(self._ours, 65536) or None
        except OSError:
            return None


__all__ = ["LONGEST", "OnPty"]
