"""Let several in one process follow a run while its store is read once: what one reads is kept for the others."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from gert_core.trace.follow import TraceFollower

if TYPE_CHECKING:
    from gert_core.api.events import TraceEvent
    from gert_core.api.stores import StoredRun

LOOK: Final = 0.05
"""How many seconds pass between two looks at a trace."""
HOLDER: Final = 0.25
"""How many seconds pass between two looks at who executes the run."""
ASKED: Final = 1.0
"""The same where a database is asked."""
KEPT: Final = 4096
"""How many of the last lines are kept for followers that are behind; one that is further behind reads by itself."""


class Followers:
    """The runs that are followed in one process, each by one reader; share it between those who follow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[str, tuple[Shared, int]] = {}

    def join(self, run: StoredRun, seq: int) -> Shared:
        """Return the reader of a run, whose first user opened the run behind the line ``seq``."""
        with self._lock:
            shared, users = self._shared.get(run.place, (None, 0))
            shared = shared or Shared(run, seq)
            self._shared[run.place] = (shared, users + 1)
            return shared

    def leave(self, run: StoredRun) -> None:
        """Give the reader back; the last one who does so ends it."""
        with self._lock:
            shared, users = self._shared.pop(run.place)
            if users > 1:
                self._shared[run.place] = (shared, users - 1)


class Shared:
    """Reads a run for all who follow it; the first that asks after a moment looks for all of them."""

    def __init__(self, run: StoredRun, seq: int) -> None:
        self._run = run
        self._follower = TraceFollower(run, seq)
        self._kept: deque[tuple[TraceEvent, bytes]] = deque(maxlen=KEPT)
        self._first = seq
        """The number of the line before the first that is kept."""
        self._lock = threading.Lock()
        self._looked = self._asked = 0.0
        self._every = ASKED if run.path is None else HOLDER
        self.held = False
        """Whether a process executed the run when it was last looked at."""

    def after(self, seq: int) -> list[tuple[TraceEvent, bytes]] | None:
        """Return the lines behind a number that have come so far; None for one who has to read them from the store."""
        with self._lock:
            self._look(time.monotonic())
            if seq < self._first:
                return None
            return [] if self._follower.seq <= seq else [one for one in self._kept if one[0].seq > seq]

    def _look(self, now: float) -> None:
        """Read what has come since, unless somebody did so a moment ago."""
        if now - self._looked < LOOK * 0.9:
            return
        if now - self._asked >= self._every:
            # Before the lines are read: what the process wrote last is not missed.
            self.held, self._asked = self._run.holder() is not None, now
        self._looked = now
        if not self._run.news():
            return
        for one in self._follower.read():
            self._kept.append(one)
        if len(self._kept) == KEPT:
            self._first = self._kept[0][0].seq - 1


__all__ = ["LOOK", "Followers", "Shared"]
