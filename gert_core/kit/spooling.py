"""Hand on what a program that takes long writes, while it writes it, so that it is not lost when gert is killed.

``gert_core.kit.processes.call`` does so for everything that is called with it; a transport has nothing to do.
"""

from __future__ import annotations

import threading
from typing import Final, Protocol

PATIENCE: Final = 1.0
"""Seconds after which what a program writes is handed on; of one that ends before that, nothing is."""
STDOUT: Final = 0
"""The number of standard output."""
STDERR: Final = 1
"""The number of standard error."""


class Spool(Protocol):
    """Where the output of one call goes; its functions raise nothing."""

    def write(self, stream: int, data: bytes) -> None:
        """Take the next part of standard output (0) or standard error (1)."""

    def close(self) -> None:
        """Take the end of the output."""


class _Thread(threading.local):
    spool: Spool | None = None


_thread: Final = _Thread()


class spooled:  # noqa: N801 - used as a function; a generator takes four times as long, and this is in every call
    """Hand what programs write that this thread runs meanwhile to ``spool``; None: it is not handed on."""

    __slots__ = ("_spool",)

    def __init__(self, spool: Spool | None) -> None:
        self._spool = spool

    def __enter__(self) -> None:
        _thread.spool = self._spool

    def __exit__(self, *_: object) -> None:
        _thread.spool = None


def current() -> Spool | None:
    """Return where the output of a program that this thread runs goes; None: nowhere."""
    return _thread.spool


__all__ = ["PATIENCE", "STDERR", "STDOUT", "Spool", "current", "spooled"]
