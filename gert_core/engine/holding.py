"""Hold a run while this process executes it: take its lease, renew one that expires, and give it back."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, RunError, StoreError
from gert_core.api.store_records import LEASE_TTL

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from gert_core.api import Lease, StoredRun

_RENEWALS: Final = 3
"""How often a lease is renewed in the time for which it holds."""
_FAILURES: Final = 2
"""How many renewals in a row may fail."""


def hold(run: StoredRun, stack: ExitStack) -> Lease:
    """Take the lease of a run until ``stack`` closes; raise ``RunError`` with who has it when it is taken.

    The lock of a directory ends with the process, however it ends; other leases end by time.
    """
    lease = run.acquire(f"{os.uname().nodename}:{os.getpid()}", LEASE_TTL)
    if lease is None:
        raise RunError(
            f"run {run.run_id} is being executed by {_holder(run.holder())}",
            kind=ErrorKind.RUN_LOCKED,
            hint="wait until it has finished",
        )
    stack.callback(run.release, lease)
    return lease


def _holder(lease: Lease | None) -> str:
    if lease is None or (lease.process is None and not lease.worker_id):
        return "process unknown"
    return f"process {lease.process}" if lease.process is not None else f"worker {lease.worker_id}"


def keep_holding(run: StoredRun, lease: Lease, stack: ExitStack, *, lost: Callable[[str], None]) -> None:
    """Renew a lease that expires until ``stack`` closes; ``lost`` is called once when that is not possible any more."""
    if lease.expires_at is not None:
        keeper = _Keeper(run, lease, lost)
        stack.callback(keeper.close)


class _Keeper:
    """The thread that renews one lease."""

    def __init__(self, run: StoredRun, lease: Lease, lost: Callable[[str], None]) -> None:
        self._run = run
        self._lease = lease
        self._lost = lost
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="gert-lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join(LEASE_TTL)

    def _renew(self) -> None:
        failed = 0
        while not self._over.wait(LEASE_TTL / _RENEWALS):
            try:
                held = self._run.renew(self._lease, LEASE_TTL)
                failed = 0
            except (StoreError, OSError):
                failed += 1
                held = failed < _FAILURES
            if not held:
                self._lost(f"the lease of run {self._run.run_id} was lost")
                return


__all__ = ["hold", "keep_holding"]
