"""A deadline that also ends when a ticket expires."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gert_core.api import Deadline


class TicketDeadline:
    """The outer deadline, but never later than ``expires``; follows the ``Deadline`` protocol.

    The time left is also measured by the monotonic clock, so setting the system clock back does not extend it.
    """

    def __init__(self, outer: Deadline, *, expires: datetime | None, now: Callable[[], datetime]) -> None:
        self._outer = outer
        self._expires = expires
        self._now = now
        self._end = None if expires is None else time.monotonic() + (expires - now()).total_seconds()

    @property
    def expired(self) -> bool:
        """Whether the ticket has expired."""
        return self._end is not None and self._left() <= 0

    @property
    def stopped(self) -> bool:
        """Whether waiting must stop, for whatever reason."""
        return self._outer.stopped or self.expired

    @property
    def cancelled(self) -> bool:
        """Whether the run is cancelled."""
        return self._outer.cancelled

    def remaining(self) -> float | None:
        """Return the seconds left until the earlier of the two ends."""
        outer = self._outer.remaining()
        if self._end is None:
            return outer
        own = max(0.0, self._left())
        return own if outer is None else min(outer, own)

    def _left(self) -> float:
        if self._expires is None or self._end is None:
            return 0.0
        return min((self._expires - self._now()).total_seconds(), self._end - time.monotonic())

    def wait(self, seconds: float) -> bool:
        """Sleep for at most ``seconds``; return True as soon as waiting must stop."""
        left = self.remaining()
        return self._outer.wait(seconds if left is None else min(seconds, left)) or self.stopped

    def on_stop(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call ``fn`` once when the run is cancelled."""
        return self._outer.on_stop(fn)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the run is cancelled."""
        return self._outer.fileno()


__all__ = ["TicketDeadline"]
