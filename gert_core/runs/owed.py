"""What a run owes people: a fold over the rules that ``run_start`` recorded and where the run stands now."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.results import RunStatus
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState

SILENT: Final = 60.0
"""Seconds after which a run that no process holds counts as interrupted."""
_ENDS: Final = (RunStatus.FAILED, RunStatus.ERROR, RunStatus.CANCELLED)


class Happened(Struct, frozen=True, kw_only=True):
    """Something that people may be told of; ``mark`` tells it from other things of the same kind in the run."""

    event: str
    mark: str
    since: str
    about: str = ""
    """The step that it is about; empty: the run."""
    asks: bool = False
    """Whether the run waits for people, who may be reminded."""


class Owed(Struct, frozen=True, kw_only=True):
    """One thing that one rule asks to be told."""

    id: str
    rule: Mapping[str, Any]
    event: str
    since: str
    about: str = ""

    @property
    def notifier(self) -> str:
        """Return the name of the notifier that the rule chose."""
        return str(self.rule["notifier"])


def owes(state: RunState) -> bool:
    """Return whether anybody is to be told of a run at all."""
    return bool(state.facts.get("notify")) and state.mode == "real"


def owed_by(info: RunInfo, now: datetime) -> list[Owed]:
    """Return what a run owes now, whether it was told or not: how it ended, or what it waits for.

    What a run has left behind is not owed any more: a failure after which it was resumed, a question that was answered.
    """
    state = info.state
    if state is None or info.moved is not None or not owes(state):
        return []
    happened = list(_happened(state, now, live=info.live))
    return [
        one
        for rule in state.facts["notify"]
        for what in happened
        if what.event in rule["on"]
        for one in _of(state, rule, what, now)
    ]


def _happened(state: RunState, now: datetime, *, live: bool) -> Iterator[Happened]:
    if state.over:
        word = (state.outcome or {}).get("category") if state.status == RunStatus.COMPLETED else state.status
        if word and (state.status == RunStatus.COMPLETED or state.status in _ENDS):
            yield Happened(event=str(word), mark=f"end/{state.seq}", since=str(state.finished))
        return
    for ticket_id, ticket in state.tickets.items():
        expires, about = ticket.get("expires_at"), str(ticket.get("step_key") or "")
        if expires and _passed(str(expires), now):
            yield Happened(event="expired", mark=ticket_id, since=str(expires), about=about)
        else:
            since = str(ticket.get("submitted"))
            yield Happened(event="approval_pending", mark=ticket_id, since=since, about=about, asks=True)
    for key, asked in state.questions.items():
        record = state.steps.get(key)
        if asked.open and record is not None and not record.done:
            since = min(str(question["asked"]) for question in asked.open.values())
            yield Happened(event="answer_pending", mark=f"{key}/{asked.since}", since=since, about=key, asks=True)
    for hold in state.holds:
        since = str(hold.since or state.updated)
        yield Happened(
            event="blocked", mark=f"{hold.key}/{hold.seq}", since=since, about=hold.step_key or "", asks=True
        )
    if state.status == RunStatus.RUNNING and not live and _passed(str(state.updated), now, after=SILENT):
        yield Happened(event="interrupted", mark=f"interrupted/{state.seq}", since=str(state.updated))


def _of(state: RunState, rule: Mapping[str, Any], what: Happened, now: datetime) -> Iterator[Owed]:
    """Yield what a rule asks to be told of something that happened: that, and of reminders the last one."""
    yield _one(state, rule, what, what.mark, what.since)
    remind = rule.get("remind")
    if not what.asks or not remind:
        return
    began = parse_time(what.since)
    number = int((now - began).total_seconds() // float(remind))
    if number > 0:
        since = (began + timedelta(seconds=number * float(remind))).isoformat()
        yield _one(state, rule, what, f"{what.mark}/again/{number}", since)


def _one(state: RunState, rule: Mapping[str, Any], what: Happened, mark: str, since: str) -> Owed:
    said = [state.run_id, rule["source"], rule["sha256"], what.event, mark]
    text = json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Owed(id=hashlib.sha256(text).hexdigest()[:32], rule=rule, event=what.event, since=since, about=what.about)


def _passed(moment: str, now: datetime, *, after: float = 0.0) -> bool:
    try:
        return (now - parse_time(moment)).total_seconds() > after
    except ValueError:
        return False


__all__ = ["SILENT", "Owed", "owed_by", "owes"]
