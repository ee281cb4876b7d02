"""Call functions after some time, all of one run in one thread, which is there only while something is due."""

from __future__ import annotations

import heapq
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

IDLE: Final = 1.0
"""Seconds that the thread waits for something new before it ends."""


class Pulse:
    """Calls of functions that are due later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def now(self) -> float:
        """Return seconds that only grow."""
        return time.monotonic()

    def after(self, seconds: float, fn: Callable[[], None]) -> None:
        """Call ``fn`` once, in ``seconds`` from now; it raises nothing."""
        with self._changed:
            if self._closed:
                return
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), fn))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="gert-pulse", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Call nothing any more."""
        with self._changed:
            self._closed = True
            self._due.clear()
            self._changed.notify()

    def _serve(self) -> None:
        while (fn := self._next()) is not None:
            fn()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while True:
                if not self._due:
                    if self._closed or (not self._changed.wait(IDLE) and not self._due):
                        self._thread = None
                        return None
                    continue
                left = self._due[0][0] - time.monotonic()
                if left <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(left)


__all__ = ["Pulse"]
