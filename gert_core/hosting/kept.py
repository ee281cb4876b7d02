"""Keep the notices of a run by number: output up to a limit, and those of events only while they are recent.

Events are in the trace, from which they are read again for a subscriber that comes late: their numbers are kept.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import GertError
from gert_core.api.hosting import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api.events import TraceEvent

    Again = Callable[[int], Iterator[TraceEvent]]
    """Yields the events of the trace behind a number."""

RECENT: Final = 256
"""How many notices of events are kept, for those who are told as the run goes."""
EVENT: Final = "event"
OUTPUT: Final = "output"
WARNING: Final = "warning"


class Kept:
    """The notices of one run; not safe for threads by itself."""

    def __init__(self, *, output: int) -> None:
        self._limit = output
        self._marks = array("q")
        """By number from 1: 0 for a notice that is kept, the number of an event, or less the characters dropped."""
        self._notices: dict[int, Notice] = {}
        self._outputs: deque[tuple[int, int]] = deque()
        self._events: deque[tuple[int, int]] = deque()
        self._size = 0
        self.forgets = False
        """Whether events can be read from the trace again."""

    def __len__(self) -> int:
        return len(self._marks)

    @property
    def held(self) -> int:
        """How many notices are kept in memory."""
        return len(self._notices)

    def add(self, notice: Notice) -> None:
        """Keep a notice, whose number is the next."""
        self._marks.append(0)
        self._notices[notice.number] = notice
        if notice.kind == OUTPUT:
            size = len(notice.data["text"])
            self._outputs.append((notice.number, size))
            self._size += size
            while self._size > self._limit and len(self._outputs) > 1:
                oldest, gone = self._outputs.popleft()
                self._size -= gone
                self._forget(oldest, -gone)

    def add_event(self, event: TraceEvent, run_id: str, *, recent: int = RECENT) -> None:
        """Keep the notice of an event while it is among the ``recent`` ones; with none it is not even made."""
        number = len(self._marks) + 1
        if self.forgets and not recent:
            self._marks.append(event.seq)
            return
        self._marks.append(0)
        self._notices[number] = event_notice(number, event, run_id)
        self._events.append((number, event.seq))
        while self.forgets and len(self._events) > recent:
            self._forget(*self._events.popleft())

    def _forget(self, number: int, mark: int) -> None:
        del self._notices[number]
        self._marks[number - 1] = mark

    def find(self, reader: Reader) -> Notice | int | None:
        """Return the next notice of a reader, or the number of the event that it is of; None when there is none."""
        for index in range(reader.last, len(self._marks)):
            reader.last = index + 1
            mark = self._marks[index]
            if mark < 0:
                reader.dropped -= mark
            elif mark:
                return mark
            else:
                found = self._notices[index + 1]
                if found.kind != OUTPUT or not reader.dropped:
                    return found
                dropped, reader.dropped = reader.dropped, 0
                return replace(found, data={**found.data, "dropped": dropped})
        return None


class Reader:
    """One who is told of notices: the last number, the characters dropped since, and the trace it reads again."""

    __slots__ = ("_again", "_events", "_run_id", "_seq", "dropped", "last")

    def __init__(self, after: int, again: Again, run_id: Callable[[], str]) -> None:
        self.last = max(after, 0)
        self.dropped = 0
        self._again = again
        self._run_id = run_id
        self._events: Iterator[TraceEvent] | None = None
        self._seq = 0

    def read(self, seq: int) -> Notice:
        """Return the notice of an event that is not kept; a warning in its place when it cannot be read."""
        try:
            if self._events is None or self._seq != seq - 1:
                self._events = self._again(seq - 1)
            event = next(self._events)
        except (GertError, OSError, StopIteration) as error:
            self._events = None
            why = getattr(error, "message", "") or "it is not in the trace any more"
            data = {"message": f"event {seq} cannot be told again: {why}"}
            return Notice(number=self.last, time="", run_id=self._run_id(), kind=WARNING, data=data)
        self._seq = seq
        return event_notice(self.last, event, self._run_id())


def event_notice(number: int, event: TraceEvent, run_id: str) -> Notice:
    """Return the notice of an event: its line as an object, at the time that it has."""
    line = {name: getattr(event, name) for name in event.__struct_fields__}
    data = {name: value for name, value in line.items() if value is not None}
    return Notice(number=number, time=event.timestamp, run_id=run_id, kind=EVENT, step_key=event.step_key, data=data)


__all__ = ["EVENT", "OUTPUT", "RECENT", "WARNING", "Kept", "Reader", "event_notice"]
