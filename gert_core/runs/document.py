"""The documents about runs that programs read: the members they share, and everything about one run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gert_core.runs.lifecycle.status import waiting_for
from gert_core.runs.result import RunResult

if TYPE_CHECKING:
    from gert_core.api.store_records import RunRow
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState, StepState


def summary(state: RunState) -> dict[str, object]:
    """Return the members that every JSON document about a run begins with."""
    return {
        "run_id": state.run_id,
        "runbook": state.runbook,
        "mode": state.mode or None,
        "status": str(state.status),
        "outcome": state.outcome,
        "failure": state.failure,
        "started": state.started,
        "finished": state.finished,
        "duration": state.duration,
        **({} if state.waited is None else {"waited": state.waited}),
    }


def run_document(info: RunInfo) -> dict[str, object]:
    """Return the document of ``gert runs show --json``."""
    state = info.state
    if state is None:
        return _head(info)
    result = RunResult(state=state, trace=info.trace)
    return {
        **result.to_json(),
        **_head(info),
        "actor": state.facts.get("actor"),
        "inputs": state.facts.get("inputs"),
        "steps": [step_json(info, record) for record in state.steps.values()],
        "artifacts": state.artifacts,
        "warnings": state.warnings,
        "progress": info.progress,
        "pending": state.pending,
        "questions": result.questions,
        "unknown_outcomes": info.unknown_outcomes,
        "resume_point": info.resume_point,
        "resumed": state.resumed,
    }


def _head(info: RunInfo) -> dict[str, object]:
    state = info.state
    head = summary(state) if state else {"run_id": info.run_id, "mode": None}
    return {
        **head,
        "run_id": info.run_id,
        "status": info.status,
        "age_seconds": age(state.started) if state else None,
        "blocked_on": [one.to_json() for one in waiting_for(state, live=info.live)] if state else [],
        "trace": str(info.trace) if info.trace is not None else None,
        "problem": info.problem,
        **({} if info.moved is None else {"moved": {"to": info.moved.to, "at": info.moved.at, "by": info.moved.by}}),
    }


def step_json(info: RunInfo, record: StepState) -> dict[str, object]:
    """Return a step as ``gert runs show --json`` lists it."""
    described = {} if record.description is None else {"description": record.description}
    return {**record.to_json(), "status": info.step_status(record), **described}


def row_document(row: RunRow, *, now: datetime | None = None) -> dict[str, object]:
    """Return a run as ``gert runs list --json`` lists it."""
    outcome = None if row.outcome is None else {"category": row.outcome, "code": row.code or ""}
    return {
        "run_id": row.run_id,
        "runbook": row.runbook or None,
        "mode": row.mode or None,
        "status": row.status,
        "outcome": outcome,
        "tenant": row.tenant,
        "actor": row.actor,
        "started": row.started,
        "updated": row.updated,
        "finished": row.finished,
        "duration": row.duration,
        **({} if row.waited is None else {"waited": row.waited}),
        "age_seconds": age(row.started, now=now),
        "last_seq": row.last_seq,
        "blocked_on": list(row.blocked_on),
        "live": row.live,
        "problem": row.problem,
    }


def age(started: str | None, *, now: datetime | None = None) -> float | None:
    """Return the seconds since a moment; None when it is not known."""
    try:
        return round(((now or datetime.now(UTC)) - datetime.fromisoformat(started or "")).total_seconds(), 3)
    except (TypeError, ValueError):
        return None


__all__ = ["age", "row_document", "run_document", "step_json", "summary"]
