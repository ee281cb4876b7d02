"""Read a run that was started before, once: its trace and what it recorded when it began."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gert_core.api import ErrorKind, RunError
from gert_core.engine.holding import hold
from gert_core.engine.resume.recorded import Recorded
from gert_core.runs.choices import recorded_choices
from gert_core.runs.meta import META, read_meta
from gert_core.runs.moved import refuse_moved
from gert_core.trace.recovery import CheckedTrace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from gert_core.api import Lease, RunStore, StoredRun
    from gert_core.runs.choices import RunChoices
    from gert_core.runs.state import RunState
    from gert_core.trace.recovery import TraceEnd
    from gert_core.trace.seals import Seal


class RecordedRun(Struct, frozen=True, kw_only=True, eq=False):
    """A run as an earlier process left it."""

    store: RunStore
    stored: StoredRun
    lease: Lease
    choices: RunChoices
    recorded: Recorded
    end: TraceEnd
    seals: Sequence[Seal]
    meta: Mapping[str, Any]
    """What ``meta.json`` said as it was read."""

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return self.stored.run_id

    @property
    def trace(self) -> Path | None:
        """Return the file with its trace, where that is a file."""
        return None if self.stored.path is None else Path(self.stored.place)

    @property
    def state(self) -> RunState:
        """Return the state of the run, the fold of its trace."""
        return self.recorded.state


def read_run(store: RunStore, run_id: str, stack: ExitStack, *, alone: bool = False) -> RecordedRun:
    """Hold a run of a store until ``stack`` closes, and read it; raise ``RunError`` when it cannot be resumed."""
    stored = store.open(run_id)
    stack.callback(stored.close)
    stored.check_owner()
    lease = hold(stored, stack, alone=alone)
    meta = read_meta(stored)
    refuse_moved(stored, meta)
    events = CheckedTrace(stored)
    recorded = Recorded(events, events.lines)
    facts = recorded.state.facts
    if not facts:
        raise RunError(
            f"run {run_id} never started: its trace is empty", kind=ErrorKind.NOT_RESUMABLE, hint="start a new run"
        )
    choices = recorded_choices(facts, meta, where=stored.where(META))
    if choices.mode != "real":
        raise RunError(
            f"run {run_id} was a {choices.mode} and cannot be resumed",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="start a new run without --mode",
        )
    return RecordedRun(
        store=store,
        stored=stored,
        lease=lease,
        choices=choices,
        recorded=recorded,
        end=events.end,
        seals=tuple(events.seals),
        meta=meta,
    )


__all__ = ["RecordedRun", "read_run"]
