"""Reads a run that was started before, once: its directory, its trace and what it recorded when it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import ErrorKind, RunError
from gert_core.engine.resume.recorded import Recorded
from gert_core.runs.choices import recorded_choices
from gert_core.runs.directory import RunDirectory
from gert_core.trace.recovery import CheckedTrace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from gert_core.runs.choices import RunChoices
    from gert_core.runs.state import RunState
    from gert_core.trace.recovery import TraceEnd
    from gert_core.trace.seals import Seal


class RecordedRun(Struct, frozen=True, kw_only=True, eq=False):
    """A run as an earlier process left it."""

    directory: RunDirectory
    trace: Path
    choices: RunChoices
    recorded: Recorded
    end: TraceEnd
    seals: Sequence[Seal]

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return self.directory.run_id

    @property
    def state(self) -> RunState:
        """Return the state of the run, the fold of its trace."""
        return self.recorded.state


def read_run(root: Path, run_id: str, stack: ExitStack) -> RecordedRun:
    """Lock a run below ``root`` until ``stack`` closes, and read it; raise ``RunError`` when it cannot be resumed."""
    directory = RunDirectory.open(root, run_id)
    directory.owners.refuse_foreign(run_id)
    stack.enter_context(directory.lock())
    meta = directory.meta()
    trace = directory.find_trace(meta)
    events = CheckedTrace(trace, run_id=run_id, owners=directory.owners)
    stack.callback(events.lines.close)
    recorded = Recorded(events, events.lines)
    facts = recorded.state.facts
    if not facts:
        raise RunError(
            f"run {run_id} never started: its trace is empty", kind=ErrorKind.NOT_RESUMABLE, hint="start a new run"
        )
    choices = recorded_choices(facts, meta, directory=directory.path)
    if choices.mode != "real":
        raise RunError(
            f"run {run_id} was a {choices.mode} and cannot be resumed",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="start a new run without --mode",
        )
    return RecordedRun(
        directory=directory,
        trace=trace,
        choices=choices,
        recorded=recorded,
        end=events.end,
        seals=tuple(events.seals),
    )


__all__ = ["RecordedRun", "read_run"]
