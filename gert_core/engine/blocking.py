"""Block and unblock a run: two events that execute nothing, or a request to the process that executes it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, EventType, RunError, RunStatus, UsageError
from gert_core.engine.cancelling import block_holder
from gert_core.engine.journal import SYSTEM
from gert_core.engine.known_secrets import refuse_secret, run_masker
from gert_core.engine.place import recorded_place
from gert_core.engine.request import Resume
from gert_core.engine.resume.read import read_run
from gert_core.engine.resume.trust import refuse_forged
from gert_core.engine.run_events import suspension
from gert_core.governance.people import id_fault
from gert_core.runs.cache import read_state
from gert_core.runs.control import CancelRequest
from gert_core.runs.find import find_run
from gert_core.runs.holds import BLOCK, UNBLOCK, key_fault
from gert_core.runs.lifecycle.status import standing_of
from gert_core.runs.lifecycle.words import INTERRUPTED
from gert_core.runs.listing import run_info
from gert_core.trace.events import timestamp
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import RunStore, StoredRun
    from gert_core.engine.resume.read import RecordedRun
    from gert_core.plugin.registry import Registry
    from gert_core.runs.lifecycle.status import Standing
    from gert_core.runs.state import RunState
    from gert_core.secrets import Masker


def block(
    run_id: str,
    *,
    store: RunStore,
    key: str,
    reason: str = "",
    by: str,
    registry: Registry,
    environ: Mapping[str, str],
) -> Standing:
    """Block a run of a store until it is unblocked with ``key``; return where it stands then.

    A process that executes it is asked to do so before its next step: until then its status stays ``running``. Raise
    ``RunError`` when it does not look (``still_running``), when the run is over, or blocked on this key already.
    """
    _check(key, by)
    with find_run(store, run_id) as found:
        run_id = found.run_id
        if _requested(found, key, by=by, reason=reason, environ=environ):
            return standing_of(run_info(found))
    with ExitStack() as stack:
        run = read_run(store, run_id, stack)
        masker = run_masker(run.stored, run.state, environ)
        refuse_secret(masker, "key", key, flag="--key")
        refuse_secret(masker, "name", by, flag="--as")
        _refuse_over(run.state)
        if _is_blocked(run.state, key):
            raise RunError(
                f"run {run.run_id} is blocked on {key} already",
                kind=ErrorKind.RUN_BLOCKED,
                hint="give another --key to block it twice",
            )
        message = {"message": reason} if reason else {}
        _write(run, BLOCK, key, stack, by=by, masker=masker, registry=registry, environ=environ, more=message)
    return standing_of(run_info(run.stored))


def unblock(
    run_id: str,
    *,
    store: RunStore,
    key: str,
    by: str,
    registry: Registry,
    environ: Mapping[str, str],
) -> Standing:
    """Unblock everything of a run that ``key`` unblocks; return where the run stands then, which is to be resumed.

    Raise ``RunError`` when a process executes it (``run_locked``), when it is not blocked (``not_blocked``), and when
    other keys unblock it (``unblock_key``).
    """
    _check(key, by)
    with ExitStack() as stack:
        run = read_run(store, find_run(store, run_id).run_id, stack)
        state, masker = run.state, run_masker(run.stored, run.state, environ)
        refuse_secret(masker, "name", by, flag="--as")
        keys = [] if state.over and state.status != RunStatus.CANCELLED else [hold.key for hold in state.holds]
        if not keys:
            raise RunError(
                f"run {run.run_id} is not blocked: it is {_word(state)}",
                kind=ErrorKind.NOT_BLOCKED,
                hint=f"gert runs show {run.run_id}{store.option} shows what it waits for",
            )
        if key not in keys:
            raise RunError(
                f"run {run.run_id} is blocked on {', '.join(dict.fromkeys(keys))}, not on {key}",
                kind=ErrorKind.UNBLOCK_KEY,
                hint="give the key that it is blocked on",
            )
        _write(run, UNBLOCK, key, stack, by=by, masker=masker, registry=registry, environ=environ)
    return standing_of(run_info(run.stored))


def _requested(run: StoredRun, key: str, *, by: str, reason: str, environ: Mapping[str, str]) -> bool:
    """Ask the process that executes a run to block it; False when none does, or it ended without doing so.

    Nothing is done to the run before what is given has been checked.
    """
    holder = run.holder()
    if holder is None:
        return False
    before = read_state(run)
    masker = run_masker(run, before, environ)
    refuse_secret(masker, "key", key, flag="--key")
    refuse_secret(masker, "name", by, flag="--as")
    at = timestamp(datetime.now(UTC))
    request = CancelRequest(by=by, reason=masker.mask_text(reason), at=at, block=key)
    if block_holder(run, holder, request) and run.holder() is not None:
        return True
    # It may have blocked the run and ended before it was seen to know of that.
    return _is_blocked(read_state(run), key) and not _is_blocked(before, key)


def _is_blocked(state: RunState, key: str) -> bool:
    return any(hold.key == key and hold.step_key is None for hold in state.holds)


def _check(key: str, by: str) -> None:
    if (fault := key_fault(key)) is not None:
        raise UsageError(f"{key!a} cannot be a key that unblocks a run: it {fault}", hint="give another with --key")
    if (fault := id_fault(by)) is not None:
        raise UsageError(f"{by!a} cannot be the id of an actor: it {fault}", hint="give another with --as ID")


def _word(state: RunState) -> str:
    return INTERRUPTED if state.status == RunStatus.RUNNING else state.status


def _refuse_over(state: RunState) -> None:
    if state.aborted or (state.over and state.status != RunStatus.CANCELLED):
        raise RunError(
            f"run {state.run_id} is over ({state.status}), so that nothing of it can be blocked",
            kind=ErrorKind.NOT_RESUMABLE,
        )


def _write(
    run: RecordedRun,
    what: str,
    key: str,
    stack: ExitStack,
    *,
    by: str,
    masker: Masker,
    registry: Registry,
    environ: Mapping[str, str],
    more: Mapping[str, object] | None = None,
) -> None:
    """Write that the run is resumed for this alone, and suspended again as it stands then."""
    refuse_forged(run, environ=environ, schemes=registry.signature_scheme)
    signer = signer_from_environ(environ, registry.signature_scheme)
    place = recorded_place(Resume(run=run), signer)
    writer = TraceWriter(
        place.sink,
        run_id=run.run_id,
        masker=masker,
        signer=signer,
        observers=registry.trace_observers(run.choices.mode),
        start_seq=place.start_seq,
        prev_hash=place.prev_hash,
    )
    stack.callback(writer.close)
    data: dict[str, object] = {"actor": by, "host": os.uname().nodename, "void": []}
    if (waited := run.state.suspended_for(timestamp(datetime.now(UTC)))) is not None:
        data["waited"] = waited
    if run.end.torn:
        data["torn_bytes"] = run.end.torn
    data |= {"reason": what, "unblock_key": key, **(more or {})}
    writer.add(EventType.RUN_RESUMED, data, principal=SYSTEM)
    writer.close_run(EventType.RUN_SUSPENDED, {**_suspension(run, what, key), "duration": "0.000s"})


def _suspension(run: RecordedRun, what: str, key: str) -> dict[str, object]:
    """Return how the run stands once it is blocked, or unblocked; without anything to wait for it is queued."""
    state = run.state
    held = [hold for hold in state.holds if what == BLOCK or hold.key != key]
    keys = [hold.key for hold in held] + ([key] if what == BLOCK else [])
    by_operator = what == BLOCK or any(hold.step_key is None for hold in held)
    asking = dict.fromkeys(str(question["step_key"]) for question in state.unanswered)
    found = suspension(state.tickets, questions=asking, blocked=keys, default=RunStatus.QUEUED)
    return {**found, "status": str(RunStatus.BLOCKED)} if by_operator else found


__all__ = ["block", "unblock"]
