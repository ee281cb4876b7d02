"""Tell people of watched runs in a thread of its own, so that no receiver delays a run or the end of the loop."""

from __future__ import annotations

import queue
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import GertError
from gert_core.kit.escaping import escape, without_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.hosting.host import Host

AGAIN: Final = 60.0
"""Seconds between two looks at everything that is due: what was not delivered, and runs that were interrupted."""
_LAST: Final = 10.0
"""The longest that the end of the loop waits for tries that are under way, in seconds."""
_LOOK: Final = 0.1
"""Seconds between two looks whether there is something left to wait for."""


class WatchNotifier:
    """For ``with``: tells people of each run that is handed in, and every minute of whatever else is due.

    The end waits some seconds for what was handed in, unless there is another of ``signals``; what is not told then is
    still owed.
    """

    def __init__(self, host: Host, *, signals: Callable[[], int]) -> None:
        self._host = host
        self._signals = signals
        self._runs: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._open: set[str] = set()
        self._over = False
        self._thread = threading.Thread(target=self._work, name="gert-watch-notify", daemon=True)

    def __enter__(self) -> WatchNotifier:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the tries of runs that were handed in; what else the thread does is left alone."""
        self._over, before, until = True, self._signals(), time.monotonic() + _LAST
        self._runs.put(None)
        while self._open and self._signals() == before and time.monotonic() < until:
            self._thread.join(_LOOK)
        if self._open:
            note("warning: people may not have been told of all runs; `gert notify flush` tells them")

    def tell(self, run_id: str) -> None:
        """Hand in a run: what it owes is tried three times within ten seconds."""
        self._open.add(run_id)
        self._runs.put(run_id)

    def _work(self) -> None:
        due = time.monotonic() + AGAIN
        while True:
            try:
                run_id = self._runs.get(timeout=max(due - time.monotonic(), 0.0))
            except queue.Empty:
                self._flush()
                due = time.monotonic() + AGAIN
                continue
            if run_id is None:
                return
            try:
                for told in self._host.notify(run_id, tries=3):
                    _report(told)
            except (GertError, OSError) as error:
                note(f"warning: people were not told of run {run_id}: {getattr(error, 'message', error)}")
            finally:
                self._open.discard(run_id)

    def _flush(self) -> None:
        """Try everything that is due; stop as soon as a run of this loop is handed in, or the loop is over."""
        try:
            for told in self._host.flush():
                _report(told)
                if self._over or not self._runs.empty():
                    return
        except (GertError, OSError) as error:
            if not self._over:
                note(f"warning: what runs owe people cannot be read: {getattr(error, 'message', error)}")


def _report(told: Mapping[str, Any]) -> None:
    if told.get("status") not in (None, "delivered"):
        note(f"warning: {told['notifier']} was not told of {told['event']}: {told['error']}")


def note(text: str) -> None:
    """Print a line to standard error, which may be closed."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{without_commands(escape(text))}\n")
        sys.stderr.flush()


__all__ = ["AGAIN", "WatchNotifier", "note"]
