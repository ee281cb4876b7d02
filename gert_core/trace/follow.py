"""Read a trace that is still being written: each time, the events that have come since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.trace.reader import altered, decode, other_run, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api.events import TraceEvent
    from gert_core.api.stores import StoredRun


class TraceFollower:
    """The events of a run in order, as far as they are written.

    A last line without its newline is being written, or torn: it is read when it is complete.
    """

    __slots__ = ("_run", "_seq")

    def __init__(self, run: StoredRun, seq: int = 0) -> None:
        """Begin behind the event with this number."""
        self._run = run
        self._seq = seq

    @property
    def seq(self) -> int:
        """The number of the last event that was read."""
        return self._seq

    def read(self) -> Iterator[tuple[TraceEvent, bytes]]:
        """Yield the events that were not read before, and their lines; raise ``TraceError`` for any other line."""
        try:
            for line in self._run.lines(self._seq):
                if not line.endswith(b"\n"):
                    return
                yield self._event(line), line[:-1]
        except FileNotFoundError:
            return
        except OSError as error:
            raise unreadable(self._run.place, error) from None

    def _event(self, line: bytes) -> TraceEvent:
        try:
            event = decode(line)
            if event.seq != self._seq + 1:
                raise ValueError(f"event {event.seq} comes after event {self._seq}")
        except ValueError as error:
            raise altered(self._run.place, error) from None
        if event.run_id != self._run.run_id:
            raise other_run(self._run.place, event.run_id, self._run.run_id)
        self._seq = event.seq
        return event


__all__ = ["TraceFollower"]
