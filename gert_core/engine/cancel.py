"""Deadlines and cancellation: one stop switch per run that ends every wait."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


class TimeSource:
    """The time that deadlines and waits are measured by; a test may replace it."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return time.monotonic()

    def now(self) -> datetime:
        """Return the time of day."""
        return datetime.now(UTC)

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        """Wait for an event, at most ``seconds``; return whether it happened."""
        return event.wait(seconds)


SYSTEM_TIME: Final = TimeSource()
_LOOK: Final = 0.2
"""Seconds between two looks for a note."""


class Stop:
    """The cancel switch of a run; once thrown it stays thrown.

    It is never thrown from a signal handler: a thread calls ``throw``. A process that cannot start that thread calls
    ``wakeup`` first and ``note`` in its handler: waits look for the note.
    """

    def __init__(self, time_source: TimeSource = SYSTEM_TIME) -> None:
        self.time = time_source
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0
        self._pipe: tuple[int, int] | None = None
        self._noted: str | None = None
        self._looks = False
        self.reason = ""

    @property
    def thrown(self) -> bool:
        """Whether the run is cancelled."""
        if self._noted is not None:
            self.throw(self._noted)
        return self._event.is_set()

    def note(self, reason: str) -> None:
        """Cancel without taking a lock, for a signal handler: the next that looks throws the switch."""
        self._noted = reason

    def wakeup(self) -> int:
        """Return a descriptor for ``signal.set_wakeup_fd``, and look for notes from now on."""
        self._looks = True
        self.fileno()
        assert self._pipe is not None  # noqa: S101 - made just before
        return self._pipe[1]

    def throw(self, reason: str) -> None:
        """Cancel: wake every waiter and call every callback once."""
        with self._lock:
            if self._event.is_set():
                return
            self.reason = reason
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            if self._pipe is not None:
                os.write(self._pipe[1], b"x")
        for callback in callbacks:
            callback()

    def wait(self, seconds: float | None) -> bool:
        """Wait for the switch; True when it is thrown."""
        if not self._looks:
            return self.time.wait(self._event, seconds)
        until = None if seconds is None else self.time.monotonic() + seconds
        while not self.thrown:
            left = _LOOK if until is None else min(_LOOK, until - self.time.monotonic())
            if left <= 0:
                return False
            self.time.wait(self._event, left)
        return True

    def on_throw(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call ``fn`` when thrown (at once if it already is); returns the undo."""
        with self._lock:
            if not self._event.is_set():
                token = self._next
                self._next += 1
                self._callbacks[token] = fn
                return lambda: self._forget(token)
        fn()
        return lambda: None

    def _forget(self, token: int) -> None:
        with self._lock:
            self._callbacks.pop(token, None)

    def fileno(self) -> int:
        """Return a descriptor that is readable once the switch is thrown; it is created on first use."""
        with self._lock:
            if self._pipe is None:
                self._pipe = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
                os.set_blocking(self._pipe[1], False)
                if self._event.is_set():
                    os.write(self._pipe[1], b"x")
            return self._pipe[0]

    def close(self) -> None:
        """Close the descriptors."""
        with self._lock:
            if self._pipe is not None:
                for descriptor in self._pipe:
                    os.close(descriptor)
                self._pipe = None


class Deadline:
    """A point in time under a stop switch; a child's deadline is never later than its parent's.

    ``limit`` is what to say of the limit behind it, where the steps that it ends do not have it themselves.
    """

    __slots__ = ("_at", "_stop", "limit")

    def __init__(self, stop: Stop, seconds: float | None = None, *, at: float | None = None, limit: str = "") -> None:
        self._stop = stop
        self.limit = limit
        self._at = stop.time.monotonic() + seconds if seconds is not None else at

    def within(self, seconds: float | None, *, limit: str = "") -> Deadline:
        """Return a deadline at most ``seconds`` from now, and never later than this one."""
        if seconds is None:
            return self
        at = self._stop.time.monotonic() + seconds
        if self._at is not None and self._at < at:
            return Deadline(self._stop, at=self._at, limit=self.limit)
        return Deadline(self._stop, at=at, limit=limit)

    def under(self, stop: Stop | None) -> Deadline:
        """Return the same point in time under another switch; None: this one."""
        return self if stop is None else Deadline(stop, at=self._at, limit=self.limit)

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self._at is not None and self._stop.time.monotonic() >= self._at

    @property
    def stopped(self) -> bool:
        """Whether the work must stop now."""
        return self._stop.thrown or self.expired

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled."""
        return self._stop.thrown

    def remaining(self) -> float | None:
        """Return the seconds left, never negative; None means no limit."""
        return None if self._at is None else max(0.0, self._at - self._stop.time.monotonic())

    def wait(self, seconds: float) -> bool:
        """Sleep for at most ``seconds``; True as soon as the work must stop."""
        left = self.remaining()
        self._stop.wait(seconds if left is None else min(seconds, left))
        return self.stopped

    def on_stop(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call ``fn`` once when the run is cancelled; returns the undo."""
        return self._stop.on_throw(fn)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the run is cancelled."""
        return self._stop.fileno()


__all__ = ["SYSTEM_TIME", "Deadline", "Stop", "TimeSource"]
