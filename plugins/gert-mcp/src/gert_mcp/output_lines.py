"""Write messages to standard output, a line each, so that waiting for who reads them can be given up at any time."""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import select
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

LATE: Final = 5.0
"""Seconds in which a client takes a message after it has sent its last one; then it reads nothing more."""
_STDOUT: Final = 1
_STDERR: Final = 2
_FIRST: Final = 3
"""The least number of a descriptor that is not standard input, output or errors."""


class MessageOutput:
    """Where the SDK writes its messages: a descriptor, written to in a thread that no end of the process waits for.

    The SDK itself writes in a thread that is waited for, and a client that does not read would hold it up for ever.
    """

    def __init__(self, descriptor: int, *, gone: Callable[[], object]) -> None:
        self._descriptor = descriptor
        self._tell_gone = gone
        self._gone = False
        self._each = math.inf
        self._open: anyio.CancelScope | None = None
        self._lines: SimpleQueue[tuple[bytes, Callable[[bool], None]]] = SimpleQueue()
        threading.Thread(target=self._work, name="gert-mcp-output", daemon=True).start()

    async def write(self, text: str) -> int:
        """Write a message; nothing is written any more when the client is gone."""
        if not self._gone:
            loop, written, taken = asyncio.get_running_loop(), anyio.Event(), [False]

            def over(done: bool) -> None:
                taken[0] = done
                written.set()

            def tell(done: bool) -> None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(over, done)

            self._lines.put((text.encode("utf-8", "replace"), tell))
            with anyio.CancelScope(deadline=anyio.current_time() + self._each) as self._open:
                await written.wait()
            self._open = None
            if not taken[0]:
                self._gone = True
                self._tell_gone()
        return len(text)

    async def flush(self) -> None:
        """Do nothing: every message is written at once."""

    def hurry(self) -> None:
        """Give the client some seconds for each message from now on: it has nothing more to say, and may be gone."""
        self._each = LATE
        if self._open is not None:
            self._open.deadline = min(self._open.deadline, anyio.current_time() + LATE)

    def _work(self) -> None:
        while True:
            data, tell = self._lines.get()
            try:
                while data:
                    data = data[self._some(data) :]
            except OSError:
                tell(False)
                return
            tell(True)

    def _some(self, data: bytes) -> int:
        """Write as much as there is room for, and return how much; wait for room."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # who started this process has made it so
            select.select([], [self._descriptor], [])
            return 0


def taken_stdout() -> int:
    """Return a descriptor for messages; what is printed goes to standard errors from now on, not among them."""
    messages = fcntl.fcntl(_STDOUT, fcntl.F_DUPFD_CLOEXEC, _FIRST)
    os.dup2(_STDERR, _STDOUT)
    return messages


__all__ = ["LATE", "MessageOutput", "taken_stdout"]
