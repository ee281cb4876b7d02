"""End runs that were interrupted and that nothing has executed for a long time."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, EventType, RunError, RunStatus
from gert_core.engine.journal import SYSTEM
from gert_core.engine.known_secrets import refuse_actor, run_masker
from gert_core.engine.place import recorded_place
from gert_core.engine.request import Resume
from gert_core.engine.resume.read import read_run
from gert_core.engine.resume.trust import refuse_forged
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import RunStore
    from gert_core.engine.resume.read import RecordedRun
    from gert_core.plugin.registry import Registry
    from gert_core.runs.state import RunState

STALE: Final = "stale"
"""The reason of a run that was cancelled because nothing executed it any more."""
_SHORTEST: Final = 300.0
_LONGEST: Final = 3600.0


class NotStale(Exception):  # noqa: N818 - not an error: it is left as it is
    """The run is executed, over, suspended or had an event too short ago."""


def stale_age(state: RunState) -> float:
    """Return the seconds without an event after which an interrupted run is stale.

    A step that was open may take as long as its timeout, which the trace does not have: then it is the longest.
    """
    return _LONGEST if state.progress["running"] else _SHORTEST


def end_stale(
    run_id: str, *, store: RunStore, age: float | None, actor: str, registry: Registry, environ: Mapping[str, str]
) -> None:
    """End an interrupted run of a store as cancelled, for the reason ``stale``; it can still be resumed.

    ``age`` is the seconds that its last event must be ago, None: those of ``stale_age``. Raise ``NotStale`` when it is
    left as it is, and ``RunError`` when it cannot be ended, such as a signed run without its key.
    """
    with ExitStack() as stack:
        try:
            run = read_run(store, run_id, stack)
        except RunError as error:
            if error.kind == ErrorKind.RUN_LOCKED:
                raise NotStale from None
            raise
        since = _seconds_since(run.state)
        if (
            run.state.status != RunStatus.RUNNING
            or since is None
            or since < (stale_age(run.state) if age is None else age)
        ):
            raise NotStale
        refuse_actor(run.stored, actor, environ)
        _write_end(run, stack, actor=actor, registry=registry, environ=environ)


def _seconds_since(state: RunState) -> float | None:
    """Return how many seconds ago the last event of a run was; None when that cannot be told."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(state.updated or "")).total_seconds()
    except (TypeError, ValueError):
        return None


def _write_end(
    run: RecordedRun, stack: ExitStack, *, actor: str, registry: Registry, environ: Mapping[str, str]
) -> None:
    refuse_forged(run, environ=environ, schemes=registry.signature_scheme)
    signer = signer_from_environ(environ, registry.signature_scheme)
    place = recorded_place(Resume(run=run), signer)
    writer = TraceWriter(
        place.sink,
        run_id=run.run_id,
        masker=run_masker(run.stored, run.state, environ),
        signer=signer,
        observers=registry.trace_observers(run.choices.mode),
        start_seq=place.start_seq,
        prev_hash=place.prev_hash,
    )
    stack.callback(writer.close)
    # The time without a process is not the run's: it began again only to be ended.
    data: dict[str, object] = {"actor": actor, "host": os.uname().nodename, "void": [], "reason": STALE}
    if run.end.torn:
        data["torn_bytes"] = run.end.torn
    writer.add(EventType.RUN_RESUMED, data, principal=SYSTEM)
    writer.close_run(
        EventType.RUN_COMPLETE, {"status": str(RunStatus.CANCELLED), "reason": STALE, "duration": "0.000s"}
    )


__all__ = ["STALE", "NotStale", "end_stale", "stale_age"]
