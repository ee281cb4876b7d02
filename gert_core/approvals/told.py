"""Read what the trace of a run tells about its tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import EventType, RunError, RunStatus
from gert_core.approvals.checks import AnswerResult, mark_of, recorded_response
from gert_core.runs.changers import changed_by
from gert_core.runs.state import ABORTED
from gert_core.runs.withdrawn import WITHDRAWN
from gert_core.trace.reader import decode, read

if TYPE_CHECKING:
    from gert_core.api import StoredRun, TraceEvent


class Told(Struct, frozen=True):
    """What a run's trace tells about its tickets: how they were resolved, and who started and changed the run.

    ``set_aside`` are the answers that the run read and that have no effect, with why: it may know more than others do,
    such as its policies of ``--policy``.
    """

    resolved: dict[str, str] = {}
    actors: frozenset[str] = frozenset()
    changed_by: tuple[frozenset[str], ...] = ()
    set_aside: dict[tuple[object, ...], str] = {}
    aborted: bool = False
    """Whether the run was ended for good, with whatever it waited for."""


def ended(run: StoredRun) -> bool:
    """Return whether a run is over with its tickets; one that was only cancelled asks again when it goes on."""
    try:
        last = decode(run.last_line())
    except (ValueError, OSError, RunError):  # reading all of it says what is wrong
        return False
    return last.type == EventType.RUN_COMPLETE and (last.data.get("status") != RunStatus.CANCELLED or _aborted(last))


def _aborted(event: TraceEvent) -> bool:
    return (event.data.get("status"), event.data.get("reason")) == (RunStatus.CANCELLED, ABORTED)


def told_by(run: StoredRun) -> Told:
    """Return what the whole trace of a run tells."""
    if not run.started:
        return Told()
    found: dict[str, str] = {}
    actors = {run.owner} - {""}
    changers = list[frozenset[str]]()
    asked = set[str]()
    counted = set[tuple[object, ...]]()
    aside: dict[tuple[object, ...], str] = {}
    aborting = aborted = False
    for event in read(run, run_id=run.run_id):
        if event.type == EventType.RUN_START:
            actors |= {str(event.data[name]) for name in ("actor", "os_user") if event.data.get(name)}
        elif event.type == EventType.RUN_RESUMED:
            aborting = aborting or event.data.get("abort") is True
            if names := changed_by(event.data):
                changers.append(names)
        elif event.type == EventType.APPROVAL_SUBMITTED:
            asked.add(str(event.data.get("ticket_id")))
        elif event.type == EventType.APPROVAL_RESPONSE:
            mark = mark_of(recorded_response(event.data))
            if event.data.get("result") == AnswerResult.SET_ASIDE:
                aside[mark] = str(event.data.get("message") or "")
            else:
                counted.add(mark)
        elif event.type == EventType.RUN_SUSPENDED and aborting:  # it waits for what its cleanup asked alone
            waited = {str(ticket) for ticket in event.data.get("tickets") or ()}
            found |= dict.fromkeys(asked - waited - found.keys(), WITHDRAWN)
        elif event.type == EventType.APPROVAL_VOID:
            found[str(event.data.get("ticket_id"))] = "void"
        elif event.type == EventType.APPROVAL_RESOLVED:
            found[str(event.data.get("ticket_id"))] = str(event.data.get("status") or "resolved")
        elif event.type == EventType.RUN_COMPLETE:
            aborted = _aborted(event)
    for mark in counted:  # the same answer again is set aside
        aside.pop(mark, None)
    return Told(found, frozenset(actors), tuple(changers), aside, aborted)


__all__ = ["Told", "ended", "told_by"]
