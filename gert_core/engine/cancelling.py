"""Cancel a run that another process executes: ask it, and send a signal only to a command that does not look."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, RunError, UsageError
from gert_core.engine.known_secrets import refuse_secret, run_masker
from gert_core.engine.leaseholders import COMMAND, is_gone, locked, told
from gert_core.governance.people import id_fault
from gert_core.runs.control import CANCEL, CancelRequest, put_request, read_request
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.status import standing_of
from gert_core.runs.listing import run_info
from gert_core.runs.moved import refuse_moved
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import Lease, RunStore, StoredRun
    from gert_core.runs.lifecycle.status import Standing
    from gert_core.runs.listing import RunInfo

TAKEN: Final = 3.0
"""The seconds in which a process that executes a run looks at a request."""
STOPPED: Final = 20.0
"""The seconds in which it stops then: programs are given 5 to end by themselves, and what hangs is left after 12."""
AT_ONCE: Final = 1.5
"""The seconds for which a run that is to be blocked is waited for; a step may take much longer to end."""
_LOOK: Final = 0.1


def cancel(run_id: str, *, store: RunStore, by: str, reason: str = "", environ: Mapping[str, str]) -> Standing:
    """Stop a run that is being executed, wherever that is, and return where it stands then; it can be resumed.

    Raise ``RunError``: ``not_running`` when nothing executes it, ``run_moved``, ``still_running`` if it does not stop.
    """
    if (fault := id_fault(by)) is not None:
        raise UsageError(f"{by!a} cannot be the id of an actor: it {fault}", hint="give another with --as ID")
    with find_run(store, run_id) as run:
        refuse_moved(run)
        info, holder = run_info(run), run.holder()
        if holder is None:
            raise _idle(info)
        if info.state is not None:
            masker = run_masker(run, info.state, environ)
            refuse_secret(masker, "name", by, flag="--as")
            reason = masker.mask_text(reason)
        stop_holder(run, holder, by=by, reason=reason)
        return standing_of(run_info(run))


def stop_holder(run: StoredRun, holder: Lease, *, by: str, reason: str) -> None:
    """Ask the process that holds a run to stop it, and return when it does not hold it any more.

    Raise ``RunError``: ``run_locked`` when that process is gone and only its lease is left, else ``still_running``.
    """
    if is_gone(holder):
        raise locked(run)
    request = CancelRequest(
        by=by, reason=reason, at=timestamp(datetime.now(UTC)), worker=holder.worker_id or None, fence=holder.fence
    )
    there = None if put_request(run, request) else read_request(run)
    if there is not None and (there.block is not None or not there.is_for(holder)):
        put_request(run, request, new=False)  # instead of one to block it, or for a process that is gone
    try:
        if not _until(lambda: run.info(CANCEL) is None or not _holds(run, holder), TAKEN):
            _signal(run, holder)
        if not _until(lambda: not _holds(run, holder), STOPPED):
            raise RunError(
                f"run {run.run_id} has not stopped: {told(holder)} still holds it",
                kind=ErrorKind.STILL_RUNNING,
                hint=f"gert runs status {run.run_id}{run.option} shows where it stands",
            )
    finally:
        with suppress(RunError):
            run.delete(CANCEL)


def block_holder(run: StoredRun, holder: Lease, request: CancelRequest) -> bool:
    """Ask the process that holds a run to block it before its next step; return whether it knows of that.

    False: it does not hold the run any more, and nothing is left of the request. Raise ``RunError`` as ``stop_holder``.
    """
    if is_gone(holder):
        raise locked(run)
    _put_block(run, request)
    if _until(lambda: _taken(run) or not _holds(run, holder), TAKEN) and _taken(run):
        _until(lambda: not _holds(run, holder), AT_ONCE)
        return True
    stop_holder(run, holder, by=request.by, reason=request.reason or f"to block it on {request.block}")
    return False


def _put_block(run: StoredRun, request: CancelRequest) -> None:
    """Write a request to block a run, unless it is to be blocked on that key already.

    The run is blocked on one key before its next step: a second request, which the process does not look at any more,
    would be taken for one that it does not obey.
    """
    there = None if put_request(run, request) else read_request(run)
    if there is None or there.block is None:
        put_request(run, request, new=False)
    elif there.block != request.block:
        raise RunError(
            f"run {run.run_id} is being executed, and will be blocked on {there.block} before its next step",
            kind=ErrorKind.RUN_BLOCKED,
            hint=f"block it on {request.block} as well when it is",
        )


def _taken(run: StoredRun) -> bool:
    found = read_request(run)
    return found is not None and found.taken


def _signal(run: StoredRun, holder: Lease) -> None:
    """Send TERM to a command of this machine that does not look; a process that hosts several runs is left alone."""
    if holder.process is None or not _here(holder) or run.holder() != holder:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(holder.process, signal.SIGTERM)


def _here(holder: Lease) -> bool:
    """Return whether the lock says that a command of this machine holds the run."""
    return holder.worker_id == f"{os.uname().nodename}:{holder.process}:{COMMAND}"


def _holds(run: StoredRun, holder: Lease) -> bool:
    found = run.holder()
    return found is not None and (found.worker_id, found.fence) == (holder.worker_id, holder.fence)


def _until(done: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is so; return whether it was within these seconds."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK)
    return True


def _idle(info: RunInfo) -> RunError:
    """Return why a run that nothing executes cannot be cancelled, and how it is ended."""
    run_id, over = info.run_id, info.state is not None and info.state.over
    if info.state is None:
        return RunError(str(info.problem), kind=ErrorKind.TRACE)
    if info.problem is not None:
        return RunError(f"run {run_id}: {info.problem}", kind=ErrorKind.NOT_RUNNING)
    if over:
        return RunError(f"run {run_id} is over ({info.status})", kind=ErrorKind.NOT_RUNNING)
    return RunError(
        f"run {run_id} is not being executed: it is {info.status}",
        kind=ErrorKind.NOT_RUNNING,
        hint=f"to end it for good: gert resume {run_id}{info.run.option} --abort",
    )


__all__ = ["block_holder", "cancel", "stop_holder"]
