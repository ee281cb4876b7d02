"""Tell who holds the lease of a run, and wait for one that a process of this machine left behind when it was killed."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, RunError
from gert_core.api.store_records import LEASE_TTL

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import Lease, StoredRun
    from gert_core.engine.cancel import Stop

COMMAND: Final = "exec"
"""How the name of a worker ends that is a command, and executes one run alone."""
_LOOK: Final = 0.5
"""The seconds between two looks at a lease that is waited for."""


def worker_name(*, alone: bool) -> str:
    """Return the name of this process in leases; one that executes a run ``alone`` may be sent a signal."""
    return f"{os.uname().nodename}:{os.getpid()}{f':{COMMAND}' if alone else ''}"


def is_gone(lease: Lease) -> bool:
    """Return whether a lease that ends by time is that of a process of this machine which has ended."""
    host, _, process = lease.worker_id.removesuffix(f":{COMMAND}").rpartition(":")
    if lease.expires_at is None or host != os.uname().nodename or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # another user's
        return False
    return False


def until(lease: Lease) -> str | None:
    """Return in words when a lease ends by time; None when it ends with its process."""
    if lease.expires_at is None:
        return None
    if lease.remaining is None:
        return f"at {lease.expires_at}"
    return f"in {math.ceil(lease.remaining)} s (at {lease.expires_at})"


def told(lease: Lease | None) -> str:
    """Return in words who holds a lease."""
    if lease is None or (lease.process is None and not lease.worker_id):
        return "process unknown"
    return f"process {lease.process}" if lease.process is not None else f"worker {lease.worker_id}"


def locked(run: StoredRun) -> RunError:
    """Return the error of a run that another worker holds: who that is, and when it can be taken over."""
    holder = run.holder()
    ends = None if holder is None else until(holder)
    if holder is not None and ends is not None and is_gone(holder):
        return RunError(
            f"run {run.run_id} is held by {told(holder)}, whose process is gone, until its lease ends {ends}",
            kind=ErrorKind.RUN_LOCKED,
            hint=f"try again then; gert resume {run.run_id}{run.option} waits for it",
        )
    hint = "wait until it has finished"
    return RunError(
        f"run {run.run_id} is being executed by {told(holder)}",
        kind=ErrorKind.RUN_LOCKED,
        hint=hint if ends is None else f"{hint}; if that worker is gone, its lease ends {ends}",
    )


def wait_for_lease(run: StoredRun, *, stop: Stop, warn: Callable[[str], None]) -> bool:
    """Wait until the lease of a process of this machine that is gone is over; return whether it was waited for.

    It is not taken away before: a process of another container can have the same number. One that is renewed
    meanwhile is that of such a process, and is left alone. One that ends later than any lease, because a clock was put
    back or its row was changed, is given back when it was not renewed in the time of a lease. Raise ``RunError`` when
    the wait is cancelled.
    """
    first = run.holder()
    if first is None or not is_gone(first):
        return False
    over = time.monotonic() + LEASE_TTL
    ends = f"it ends {until(first)}"
    if (first.remaining or 0.0) > LEASE_TTL:
        why = f"because no lease lasts until {first.expires_at}"
        ends = f"it is given up in {math.ceil(LEASE_TTL)} s unless it is renewed, {why}"
    warn(f"waiting for the lease of {told(first)}, whose process is gone: {ends}")
    held: Lease | None = first
    while held is not None and (held.worker_id, held.expires_at) == (first.worker_id, first.expires_at):
        if stop.wait(min(_LOOK, held.remaining or 0.0) + 0.01):
            raise RunError(f"cancelled; run {run.run_id} is held by {told(first)}", kind=ErrorKind.CANCELLED)
        held = None
        with suppress(OSError):  # a store that is away is asked by what comes next
            if time.monotonic() > over:
                run.release(first)
            held = run.holder()
    return True


__all__ = ["COMMAND", "is_gone", "locked", "told", "until", "wait_for_lease", "worker_name"]
