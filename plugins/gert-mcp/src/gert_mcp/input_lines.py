"""Read messages from standard input, a line each, so that waiting for the next one can be given up at any time."""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage

from gert_mcp.unreadable import refusal_of, refused_for_length

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_types import JSONRPCError

LONGEST: Final = 4 * 1024 * 1024
"""The most bytes of a message; a longer one is not read into memory, and refused."""
_CHUNK: Final = 64 * 1024


class InputLines:
    """The messages from a descriptor, as the SDK iterates over them; other lines are answered here.

    The SDK itself reads in a thread, which nothing can end while the client neither writes nor leaves.
    """

    send: Callable[[SessionMessage], Awaitable[None]] | None = None
    """How to answer, which is known when the SDK is about to read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._skips = False
        self._ended = False
        self._waiting: anyio.CancelScope | None = None

    def end(self) -> None:
        """Read nothing more: who sends is gone. What has been read already is still returned."""
        self._ended = True
        if self._waiting is not None:
            self._waiting.cancel()

    def __aiter__(self) -> InputLines:
        """Return the lines."""
        return self

    async def __anext__(self) -> str:
        """Return the next line that is a message, with its end."""
        while True:
            line = await self._line()
            if not line or line.isspace():
                continue
            refusal = refusal_of(line)
            if refusal is None:
                return line
            await self._refuse(refusal)

    async def _line(self) -> str:
        """Return the next line, with its end; empty for the rest of one that was refused."""
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = bytearray(rest)
                skips, self._skips = self._skips, False
                return "" if skips else line.decode("utf-8", "replace") + "\n"
            if len(self._buffer) > LONGEST:
                if not self._skips:
                    beginning = self._buffer[:_CHUNK].decode("utf-8", "replace")
                    await self._refuse(refused_for_length(beginning, "4 MiB"))
                self._buffer.clear()
                self._skips = True
            if self._ended:
                raise StopAsyncIteration
            await self._fill()

    async def _refuse(self, refusal: JSONRPCError) -> None:
        if self.send is not None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client is gone
                await self.send(SessionMessage(refusal))

    async def _fill(self) -> None:
        with anyio.CancelScope() as self._waiting:
            try:
                await anyio.wait_readable(self._descriptor)
            except PermissionError:  # a file, which can always be read
                await anyio.lowlevel.checkpoint()
        self._waiting = None
        if self._ended:
            return
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError:  # a connection that broke off, a terminal that is gone
            data = b""
        self._ended = not data
        self._buffer += data


def when_closed(descriptor: int, call: Callable[[], object]) -> None:
    """Call a function, in a thread, when a pipe has no writer any more, although it has not been read to its end.

    What stands in it may wait for a client that does not read.
    """

    def wait() -> None:
        poll = select.poll()
        poll.register(descriptor, 0)  # it is told of the end, and of nothing else
        poll.poll()
        call()

    threading.Thread(target=wait, name="gert-mcp-input", daemon=True).start()


__all__ = ["LONGEST", "InputLines", "when_closed"]
