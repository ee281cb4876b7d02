"""How runs of a runbook ended so far, read at most once in a while."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api import GertError

if TYPE_CHECKING:
    from gert_core.hosting import Host

FRESH: Final = 30.0
"""Seconds for which what was read is used."""
_GOOD: Final = ("resolved", "no_action")


class EndingCounts(Struct, frozen=True, kw_only=True):
    """How the real runs of one runbook ended; each kind is a category, or the status of a run without an outcome."""

    counts: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        """How many runs ended."""
        return sum(count for _, count in self.counts)

    @property
    def good(self) -> int:
        """How many of them were resolved, or had nothing to do."""
        return sum(count for kind, count in self.counts if kind in _GOOD)


class Endings:
    """How the runs of a store ended, by runbook."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._read = float("-inf")
        self._found: dict[str, EndingCounts] = {}

    def of(self, runbook: str) -> EndingCounts:
        """Return how runs of a runbook ended."""
        self.refresh()
        return self._found.get(runbook, EndingCounts())

    def refresh(self) -> None:
        """Read the rows of all runs, unless that was done a moment ago; one thread does so for all."""
        with self._lock:
            if time.monotonic() - self._read < FRESH:
                return
            counts: dict[str, Counter[str]] = {}
            try:
                for row in self._host.rows():
                    if row.mode == "real" and row.finished is not None and row.problem is None:
                        counts.setdefault(row.runbook, Counter())[row.outcome or row.status] += 1
            except GertError:  # what was known before is better than a page that fails
                pass
            else:
                self._found = {name: EndingCounts(counts=tuple(found.most_common())) for name, found in counts.items()}
            self._read = time.monotonic()


__all__ = ["EndingCounts", "Endings"]
