"""A deadline with an upper limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import Deadline


class Within:
    """The outer deadline, but never later than ``seconds`` from now."""

    def __init__(self, outer: Deadline, seconds: float) -> None:
        self._outer = outer
        self._end = time.monotonic() + seconds

    @property
    def stopped(self) -> bool:
        """Whether the work must stop now."""
        return self._outer.stopped or time.monotonic() >= self._end

    @property
    def cancelled(self) -> bool:
        """Whether the run is cancelled."""
        return self._outer.cancelled

    def remaining(self) -> float:
        """Return the seconds left."""
        outer = self._outer.remaining()
        own = max(0.0, self._end - time.monotonic())
        return own if outer is None else min(outer, own)

    def wait(self, seconds: float) -> bool:
        """Sleep for at most ``seconds``."""
        return self._outer.wait(min(seconds, self.remaining())) or self.stopped

    def on_stop(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call ``fn`` once when the run is cancelled."""
        return self._outer.on_stop(fn)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the run is cancelled."""
        return self._outer.fileno()


__all__ = ["Within"]
