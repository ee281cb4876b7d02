"""Finds the lines of a trace again by their numbers, after the trace was read once."""

from __future__ import annotations

import json
import os
from array import array
from typing import TYPE_CHECKING, Any

from gert_core.api.errors import TraceError
from gert_core.trace.reader import altered

if TYPE_CHECKING:
    from pathlib import Path


class TraceLines:
    """Where each line of a trace is: sixteen bytes per event instead of the event.

    A line is believed only if it is still the line that was read: its checksum has a key of this process.
    """

    __slots__ = ("_checksums", "_fd", "_offsets", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._offsets = array("Q", [0])
        self._checksums = array("q")

    def keep(self, fd: int) -> None:
        """Keep the file open, by a descriptor of its own; ``close`` closes it."""
        self.close()
        self._fd = os.dup(fd)

    def add(self, line: bytes) -> None:
        """Note the next line."""
        self._offsets.append(self._offsets[-1] + len(line))
        self._checksums.append(hash(line))

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._checksums)

    def data(self, number: int) -> dict[str, Any]:
        """Return the data of the event with this number; raise ``TraceError`` when it is not as it was read."""
        data: dict[str, Any] = json.loads(self.line(number))["data"]
        return data

    def line(self, number: int) -> bytes:
        """Return the line of the event with this number; raise ``TraceError`` when it is not as it was read."""
        start, end = self._offsets[number - 1], self._offsets[number]
        try:
            line = os.pread(self._fd, end - start, start)
        except OSError as error:
            raise TraceError(f"the trace {self.path} cannot be read: {error.strerror}", file=str(self.path)) from None
        if hash(line) != self._checksums[number - 1]:
            raise altered(self.path, ValueError(f"event {number} changed while the run was being resumed"))
        return line

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


__all__ = ["TraceLines"]
