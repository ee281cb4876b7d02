"""Add up how long the processes of a run worked, and how long it waited for people."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.kit.time_spans import recorded_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunTimes(Struct, kw_only=True):
    """The seconds of a run over all its processes.

    A process that ends tells its own; of one that was killed the events tell when it was at work.
    """

    worked: float = 0.0
    waited: float = 0.0
    began: float | None = None
    """When the process began that has not told its duration."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    """When that process waited for people, without overlaps and in order."""

    def begin(self, at: str) -> None:
        """Begin a process."""
        self.began = _moment(at)
        self.waits = []

    def wait(self, since: object, until: str) -> None:
        """Add that the process asked somebody and had the answer; what an earlier one asked was not waited for."""
        begin, end = _moment(since), _moment(until)
        if begin is None or end is None or self.began is None or begin < self.began or end <= begin:
            return
        while self.waits and self.waits[-1][1] > begin:
            begin = min(begin, self.waits.pop()[0])
        self.waits.append((begin, end))

    def end(self, data: Mapping[str, Any]) -> None:
        """End a process that tells its duration; one that does not is as if it had been killed."""
        worked = recorded_seconds(data.get("duration"))
        if worked is not None:
            self.worked += worked
            self.waited += recorded_seconds(data.get("waited")) or 0.0
            self.began = None

    def lose(self, last: str | None) -> None:
        """End a process that was killed, if there is one: it counts up to its last event."""
        end = _moment(last)
        if self.began is not None and end is not None:
            waited = sum(until - since for since, until in self.waits)
            self.waited += waited
            self.worked += max(0.0, end - self.began - waited)
        self.began = None

    def suspended(self, waited: object) -> None:
        """Add the time in which there was no process, because people had to answer first."""
        self.waited += recorded_seconds(waited) or 0.0

    def told(self, duration: object) -> str | None:
        """Return the duration of the run, whose last process told this one."""
        if recorded_seconds(duration) is None:
            return None if duration is None else str(duration)
        return f"{self.worked:.3f}s"

    @property
    def told_waited(self) -> str | None:
        """Return how long it waited; None when it did not."""
        return f"{self.waited:.3f}s" if self.waited >= 0.001 else None


def between(since: object, until: object) -> str | None:
    """Return the time from one moment to another as it is recorded; None when it is unknown or not even a moment."""
    begin, end = _moment(since), _moment(until)
    return f"{end - begin:.3f}s" if begin is not None and end is not None and end - begin >= 0.001 else None


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return None


__all__ = ["RunTimes", "between"]
