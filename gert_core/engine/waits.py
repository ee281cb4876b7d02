"""Measure the time in which steps wait for people, which their durations leave out."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST: Final = 0.1
"""The seconds from which on a wait counts: no person reads a question faster, so the answer was there before."""


class Waits:
    """When the steps of this process waited for people."""

    __slots__ = ("_lock", "spans")

    def __init__(self) -> None:
        self.spans: list[tuple[str, float, float]] = []
        """Step key, begin and end, in the order of their ends."""
        self._lock = threading.Lock()

    @contextmanager
    def during(self, key: str) -> Iterator[None]:
        """Count the time in which the context is entered as waiting of a step."""
        began = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                ended = time.perf_counter()
                if ended - began >= SHORTEST:
                    self.spans.append((key, began, ended))

    def seconds(self, key: str | None = None, *, since: float = 0.0) -> float:
        """Return how long a step and the steps inside it waited; without a key, how long any step did.

        Several that wait at the same time wait once. Only what ended after ``since`` is looked at.
        """
        total, reached = 0.0, None
        for waiting, began, ended in reversed(self.spans):
            if ended <= since:
                break
            if key is not None and waiting != key and not waiting.startswith((f"{key}/", f"{key}[")):
                continue
            # Going back in time: what begins before everything so far adds the part up to there.
            reached = ended if reached is None else min(reached, ended)
            if (earlier := max(began, since)) < reached:
                total += reached - earlier
                reached = earlier
        return total


__all__ = ["Waits"]
