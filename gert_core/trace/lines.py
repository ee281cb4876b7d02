"""Find the lines of a trace again by their numbers, after the trace was read once."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from gert_core.kit.json_reader import loads
from gert_core.trace.reader import altered, unreadable

if TYPE_CHECKING:
    from gert_core.api.stores import StoredRun


class TraceLines:
    """The lines of a run: eight bytes per event instead of the event.

    A line is believed only if it is still the line that was read: its checksum has a key of this process.
    """

    __slots__ = ("_checksums", "_run")

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._checksums = array("q")

    def add(self, line: bytes) -> None:
        """Note the next line."""
        self._checksums.append(hash(line))

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._checksums)

    def data(self, number: int) -> dict[str, Any]:
        """Return the data of the event with this number; raise ``TraceError`` when it is not as it was read."""
        try:
            data: dict[str, Any] = loads(self.line(number))["data"]
        except ValueError as error:  # as deep as it was, it could be read from a place that was less deep itself
            raise altered(self._run.place, error) from None
        return data

    def line(self, number: int) -> bytes:
        """Return the line of the event with this number; raise ``TraceError`` when it is not as it was read."""
        try:
            line = self._run.line(number)
        except OSError as error:
            raise unreadable(self._run.place, error) from None
        if hash(line) != self._checksums[number - 1]:
            changed = ValueError(f"event {number} changed while the run was being resumed")
            raise altered(self._run.place, changed)
        return line


__all__ = ["TraceLines"]
