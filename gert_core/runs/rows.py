"""The row of a run in lists, made of the fold of its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.store_records import RunRow
from gert_core.kit.run_rows import MOVED, UNREADABLE, added, blocked_on, shown
from gert_core.runs.lifecycle.status import waiting_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState

_WORDS: Final = {"reconcile": "unknown outcome"}


def row_of(info: RunInfo) -> RunRow:
    """Return the row of a run, whatever state it is in."""
    if info.state is None:
        return RunRow(run_id=info.run_id, status=UNREADABLE, live=info.live, problem=info.problem)
    row = shown(_row(info.run_id, info.state, live=info.live), live=info.live)
    if info.moved is None or not info.moved.done:
        return row
    return replace(row, status=MOVED, finished=info.moved.at, blocked_on=())


def _row(run_id: str, state: RunState, *, live: bool) -> RunRow:
    facts, outcome = state.facts, state.outcome or {}
    waits = tuple(one.to_json() for one in waiting_for(state, live=live))
    return RunRow(
        run_id=run_id,
        runbook=state.runbook,
        status=str(state.status),
        outcome=_text(outcome.get("category")),
        code=_text(outcome.get("code")),
        mode=state.mode,
        tenant=_text(facts.get("tenant")),
        actor=_text(facts.get("actor")),
        started=state.started,
        updated=state.updated,
        finished=state.finished,
        duration=state.duration or added(None, state.times.worked or None),
        waited=state.waited or added(None, state.times.waited or None),
        last_seq=state.seq,
        blocked_on=waits if waits or state.over else blocked_on(state.result),
    )


def phrase(blocks: Iterable[Mapping[str, str]]) -> str:
    """Return in one phrase what a run waits for."""
    found: dict[str, list[str]] = {}
    for block in blocks:
        found.setdefault(_WORDS.get(block["kind"], block["kind"]), []).append(block["key"])
    return "; ".join(f"{word}: {', '.join(keys)}" for word, keys in found.items())


def _text(value: object) -> str | None:
    """Return a text that a trace should have; another value in its place is shown and cannot break a list."""
    return None if value is None else str(value)


__all__ = ["phrase", "row_of"]
