"""The row of a run in lists, made of the fold of its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.store_records import RunRow
from gert_core.kit.run_rows import UNREADABLE, added, blocked_on, shown

if TYPE_CHECKING:
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState


def row_of(info: RunInfo) -> RunRow:
    """Return the row of a run, whatever state it is in."""
    if info.state is None:
        return RunRow(run_id=info.directory.run_id, status=UNREADABLE, live=info.live, problem=info.problem)
    return shown(_row(info.directory.run_id, info.state), live=info.live)


def _row(run_id: str, state: RunState) -> RunRow:
    facts, outcome = state.facts, state.outcome or {}
    return RunRow(
        run_id=run_id,
        runbook=state.runbook,
        status=str(state.status),
        outcome=outcome.get("category"),
        code=outcome.get("code"),
        mode=state.mode,
        tenant=facts.get("tenant"),
        actor=facts.get("actor"),
        started=state.started,
        updated=state.updated,
        finished=state.finished,
        duration=state.duration or added(None, state.times.worked or None),
        waited=state.waited or added(None, state.times.waited or None),
        last_seq=state.seq,
        blocked_on=() if state.over else blocked_on(state.result),
    )


__all__ = ["row_of"]
