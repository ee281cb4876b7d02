"""A clock for tests: time stands still, and waiting takes none of it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Final

from gert_core.engine.cancel import Deadline, Stop, TimeSource

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock(TimeSource):
    """A clock that moves when something waits by it, at once, and by ``advance``.

    ``Stop(clock)`` and ``clock.deadline(seconds)`` go by it, and so does a run of ``GertRunner(clock=clock)``: its
    ``ctx.now``, ``ctx.sleep``, timeouts and approvals. ``waits`` are the seconds of every wait. What other programs do
    takes real time, and time does not pass for the deadline of a call that waits for them.
    """

    def __init__(self, start: datetime = START) -> None:
        self.waits: list[float] = []
        self._start = start
        self._passed = 0.0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._passed

    def now(self) -> datetime:
        """Return the time of day: the start and what has passed since."""
        return self._start + timedelta(seconds=self._passed)

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        """Let the time pass at once, unless the event has happened; without a limit, wait for the event."""
        if seconds is None:
            return event.wait()
        if not event.is_set():
            self.waits.append(seconds)
            self.advance(seconds)
        return event.is_set()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._lock:
            self._passed += max(0.0, seconds)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Return a deadline that many seconds from now, with a stop switch of its own; None: no limit."""
        return Deadline(Stop(self), seconds)


__all__ = ["START", "FakeClock"]
