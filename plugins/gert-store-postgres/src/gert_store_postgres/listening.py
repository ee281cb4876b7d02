"""Hear of new lines: one connection listens for all followers of a process, in place of a query each moment."""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import psycopg

from gert_core.api import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

Connection = psycopg.Connection[tuple[Any, ...]]
CHANNEL: Final = "gert_lines"
"""Where a writer says which run has more lines, if somebody follows it."""
SURE: Final = 1.0
"""The seconds after which lines are looked for although none were announced."""
_AGAIN: Final = 2.0
"""The seconds before another connection is made in place of one that was lost."""


def lock_of(run_id: str) -> int:
    """Return the number of the lock that followers of a run share; a writer that cannot have it alone is followed."""
    return int.from_bytes(sha256(f"gert lines {run_id}".encode()).digest()[:8], "big", signed=True)


class _Followed:
    """What is known of one run."""

    __slots__ = ("asked", "heard", "listening")

    def __init__(self) -> None:
        self.listening = False
        """Whether writers know that the run is followed."""
        self.heard = True
        self.asked = 0.0


class Listener:
    """The runs that are followed; its thread and connection are there while there is one."""

    def __init__(self, connect: Callable[[], Connection | None], release: Callable[[], None]) -> None:
        """Know how to connect, which is None where no connection can be spared, and whom to tell when it is closed."""
        self._connect = connect
        self._release = release
        self._lock = threading.Lock()
        self._runs: dict[str, _Followed] = {}
        self._thread: threading.Thread | None = None
        self._wake = -1
        self._ended = -_AGAIN

    def news(self, run_id: str) -> bool:
        """Return whether a run may have lines that were not there when this was last asked."""
        now = time.monotonic()
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                run = self._runs[run_id] = _Followed()
                self._wake_up()
            if self._thread is None and now - self._ended >= _AGAIN:
                self._start()
            if run.listening and not run.heard and now - run.asked < SURE:
                return False
            run.heard, run.asked = False, now
            return True

    def forget(self, run_id: str) -> None:
        """Do not listen for a run any more; the last one ends the thread."""
        with self._lock:
            if self._runs.pop(run_id, None) is not None:
                self._wake_up()

    def close(self) -> None:
        """Listen for nothing any more."""
        with self._lock:
            self._runs.clear()
            thread = self._thread
            self._wake_up()
        if thread is not None:
            thread.join(SURE)

    def _wake_up(self) -> None:
        if self._wake >= 0:
            os.write(self._wake, b"\0")

    def _start(self) -> None:
        ends = os.pipe()
        self._wake = ends[1]
        self._thread = threading.Thread(target=self._work, args=ends, name="gert-listen", daemon=True)
        self._thread.start()

    def _work(self, woken: int, wake: int) -> None:
        connection = None
        try:
            connection = self._connect()
            if connection is not None:
                self._listen(connection, woken)
        except (psycopg.Error, StoreError, OSError):
            pass  # followers look by themselves until there is another connection
        finally:
            with self._lock:
                for run in self._runs.values():
                    run.listening = False
                self._thread, self._wake, self._ended = None, -1, time.monotonic()
                os.close(wake)
                os.close(woken)
            if connection is not None:
                with suppress(psycopg.Error):
                    connection.close()
                self._release()

    def _listen(self, connection: Connection, woken: int) -> None:
        connection.add_notify_handler(lambda notice: self._hear(notice.payload))
        connection.execute(f"LISTEN {CHANNEL}")
        known: set[str] = set()
        while True:
            with self._lock:
                wanted = set(self._runs)
            if not wanted:
                return
            for run_id in known - wanted:
                connection.execute("SELECT pg_catalog.pg_advisory_unlock_shared(%s)", (lock_of(run_id),))
            for run_id in wanted - known:
                connection.execute("SELECT pg_catalog.pg_advisory_lock_shared(%s)", (lock_of(run_id),))
                self._hear(run_id, listening=True)  # what came before
            known = wanted
            ready, _, _ = select.select([connection.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
            connection.pgconn.consume_input()
            while (notice := connection.pgconn.notifies()) is not None:
                self._hear(notice.extra.decode("utf-8", "replace"))

    def _hear(self, run_id: str, *, listening: bool = False) -> None:
        with self._lock:
            run = self._runs.get(run_id)
            if run is not None:
                run.heard = True
                run.listening = run.listening or listening


__all__ = ["CHANNEL", "SURE", "Listener", "lock_of"]
