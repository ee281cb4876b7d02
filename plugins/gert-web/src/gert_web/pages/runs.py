"""``/runs``: the runs of the store, and one run with its steps, what they printed, and what can be done next."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from gert_core.hosting import next_steps
from gert_web.story import SHOWN, tell

if TYPE_CHECKING:
    from starlette.responses import Response

    from gert_core.api import RunRow
    from gert_web.site import PageVisit

PAGE: Final = 50
"""How many runs stand on a page."""
KEPT: Final = ("real", "probe", "")
"""The modes of runs that are listed; that of a run that cannot be read is not known."""
STATUSES: Final = ("running", "approval_pending", "answer_pending", "blocked", "completed", "failed", "error")
"""What the list can be filtered by; further statuses work in the address too."""


def listing(visit: PageVisit) -> Response:
    """Show the runs, the newest first."""
    status, runbook = visit.query("status"), visit.query("runbook")
    first = int(visit.query("from")) if visit.query("from").isdigit() and len(visit.query("from")) < 8 else 0
    rows = (row for row in visit.host.rows() if row.mode in KEPT and _wanted(row, status, runbook))
    found = list(islice(rows, first, first + PAGE + 1))
    return visit.page(
        "runs.html",
        rows=found[:PAGE],
        first=first,
        more=len(found) > PAGE,
        size=PAGE,
        status=status,
        runbook=runbook,
        statuses=STATUSES,
    )


def one_run(visit: PageVisit) -> Response:
    """Show one run."""
    view = visit.host.run(visit.word("run"))
    if view.run_id != visit.word("run"):
        return visit.go(f"/runs/{view.run_id}")
    state = view.state
    if state is None:
        return visit.page("run_unreadable.html", view=view, problem=view.info.problem)
    story = tell(visit.host.events(view.run_id))
    story.place(state.started, state.finished)
    for step in story.steps.values():
        record = state.steps.get(step.key)
        if record is not None:
            step.status = view.info.step_status(record)
            step.failure = record.failure
    steps = list(story.steps.values())
    document = view.to_json()
    return visit.page(
        "run.html",
        view=view,
        run=document,
        story=story,
        steps=steps[-SHOWN:],
        hidden=max(len(steps) - SHOWN, 0),
        next=next_steps(view),
        asking=list(dict.fromkeys(str(one["step_key"]) for one in document.get("questions") or ())),
        problem=visit.site.problems.get(view.run_id, ""),
    )


def _wanted(row: RunRow, status: str, runbook: str) -> bool:
    return (not status or row.status == status) and (not runbook or row.runbook == runbook)


__all__ = ["PAGE", "listing", "one_run"]
