"""Read messages from standard input, a line each, so that waiting for the next one can be given up at any time."""

from __future__ import annotations

import os
from typing import Final

import anyio

LONGEST: Final = 4 * 1024 * 1024
"""The most bytes of a message; a longer one is not read into memory, and answered as what is not a message."""
_CHUNK: Final = 64 * 1024
_TOO_LONG: Final = "a message of more than 4 MiB"


class InputLines:
    """The lines of a descriptor, as the SDK iterates over them.

    The SDK itself reads in a thread, which nothing can end while the client neither writes nor leaves.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._skips = False
        self._ended = False

    def __aiter__(self) -> InputLines:
        """Return the lines."""
        return self

    async def __anext__(self) -> str:
        """Return the next line, with its end."""
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = bytearray(rest)
                if not self._skips:
                    return line.decode("utf-8", "replace") + "\n"
                self._skips = False
                return _TOO_LONG
            if len(self._buffer) > LONGEST:
                self._buffer.clear()
                self._skips = True
            if self._ended:
                raise StopAsyncIteration
            await self._fill()

    async def _fill(self) -> None:
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:  # a file, which can always be read
            await anyio.lowlevel.checkpoint()
        data = os.read(self._descriptor, _CHUNK)
        self._ended = not data
        self._buffer += data


__all__ = ["LONGEST", "InputLines"]
