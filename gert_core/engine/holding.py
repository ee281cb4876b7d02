"""Hold a run while this process executes it: take its lease, renew one that expires, and give it back."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, StoreError, TraceError
from gert_core.api.store_records import LEASE_TTL
from gert_core.engine.leaseholders import locked, worker_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from gert_core.api import Lease, StoredRun
    from gert_core.engine.cancel import Stop
    from gert_core.trace.writer import TraceWriter

_RENEWALS: Final = 3
"""How often a lease is renewed in the time for which it holds."""
_MARGIN: Final = 5.0
"""The seconds before the end of a lease at which nothing is tried again."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


def hold(run: StoredRun, stack: ExitStack, *, alone: bool = False) -> Lease:
    """Take the lease of a run until ``stack`` closes; raise ``RunError`` with who has it when it is taken.

    The lock of a directory ends with the process, however it ends; other leases end by time. A process that executes
    this run ``alone`` may be sent a signal by who wants the run to stop.
    """
    lease = run.acquire(worker_name(alone=alone), LEASE_TTL)
    if lease is None:
        raise locked(run)
    stack.callback(_release, run, lease)
    return lease


def _release(run: StoredRun, lease: Lease) -> None:
    with suppress(StoreError):  # it ends by time; what was executed is recorded
        run.release(lease)


def keep_holding(run: StoredRun | None, lease: Lease | None, writer: TraceWriter, stop: Stop, stack: ExitStack) -> None:
    """Renew a lease that expires until ``stack`` closes; when it is lost, write nothing more and stop the run."""
    if run is None or lease is None or lease.expires_at is None:
        return

    def lost(why: str) -> None:
        writer.give_up(
            TraceError(
                f"{run.place} is not executed by this worker any more: {why}; the run stops here",
                kind=ErrorKind.LEASE_LOST,
                hint=f"gert runs status {run.run_id}{run.option} shows where it stands",
            )
        )
        stop.throw(ErrorKind.LEASE_LOST)

    stack.callback(_Keeper(run, lease, lost).close)


class _Keeper:
    """The thread that renews one lease; a store that is away is asked again until the lease is nearly over."""

    def __init__(self, run: StoredRun, lease: Lease, lost: Callable[[str], None]) -> None:
        self._run = run
        self._lease = lease
        self._lost = lost
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="gert-lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; one that waits for the store is left to end with the process."""
        self._over.set()
        self._thread.join(_LONGEST_PAUSE)

    def _keep(self) -> None:
        while not self._over.wait(LEASE_TTL / _RENEWALS):
            why = self._renew(time.monotonic() + LEASE_TTL * (1 - 1 / _RENEWALS) - _MARGIN)
            if why is not None and not self._over.is_set():
                self._lost(why)
            if why is not None:
                return

    def _renew(self, until: float) -> str | None:
        """Return None when the lease was renewed, else why it is lost."""
        pause = _FIRST_PAUSE
        while True:
            try:
                held = self._run.renew(self._lease, LEASE_TTL)
            except OSError as error:  # a StoreError too
                if time.monotonic() + pause > until:
                    return str(error.strerror or error)
            else:
                return None if held else "another worker has taken it over"
            if self._over.wait(pause):
                return None
            pause = min(_LONGEST_PAUSE, pause * 2)


__all__ = ["hold", "keep_holding"]
