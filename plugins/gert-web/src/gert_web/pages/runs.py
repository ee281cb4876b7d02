"""``/runs``: the runs of the store, and one run with its steps, what they printed, and what can be done next."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from gert_core.hosting import next_steps
from gert_core.hosting.advice import next_steps_of, resume_options
from gert_web.problems import PageError
from gert_web.story import SHOWN, tell

if TYPE_CHECKING:
    from starlette.responses import Response

    from gert_core.api import RunRow
    from gert_core.hosting import RunView
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
        asking=list(dict.fromkeys(str(one["step_key"]) for one in visit.host.questions(view.run_id))),
        resumable=visit.site.wanted.resume and _plain_resume(view),
        problem=visit.site.resume.problem_of(view.run_id),
    )


def resume(visit: PageVisit) -> Response:
    """Resume a run that only waits for that; without ``--resume`` the page shows the command."""
    if not visit.site.wanted.resume:
        raise PageError(403, "This server resumes no runs.", hint="It was started without --resume.")
    visit.actor()
    view = visit.host.run(visit.word("run"))
    if not _plain_resume(view):
        raise PageError(409, "This run cannot simply be resumed.", hint="Its page shows what can be done.")
    visit.site.resume.soon(view.run_id)
    return visit.go(f"/runs/{view.run_id}")


def _plain_resume(view: RunView) -> bool:
    """Return whether the first thing to do about a run is to resume it, and nothing has to be said for that."""
    first = next(iter(next_steps_of(view.info)), None)
    found = None if first is None else resume_options(first)
    return found is not None and not any(value for name, value in found.items() if name != "run_id")


def _wanted(row: RunRow, status: str, runbook: str) -> bool:
    return (not status or row.status == status) and (not runbook or row.runbook == runbook)


__all__ = ["PAGE", "listing", "one_run", "resume"]
