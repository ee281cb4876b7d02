"""``/tickets``: the inbox, one ticket with everything that its approval means, deciding it, and talking about it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import GertError
from gert_core.kit.approval_screen import command_of
from gert_core.kit.provider_settings import ALLOW_SELF
from gert_web.problems import PageError, page_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response

    from gert_core.api import ApprovalRequest
    from gert_core.hosting import TicketView
    from gert_web.site import PageVisit

SERIOUS: Final = ("high", "critical")
"""The risks for which a person says that they have read the command."""
_STARTED: Final = ("program", "connect", "method", "stdin", "env", "cwd")


def inbox(visit: PageVisit) -> Response:
    """Show the tickets that wait."""
    everything = visit.query("all") == "1"
    unreadable: list[Mapping[str, Any]] = []
    found = list(visit.host.tickets(status=None if everything else "pending", report=unreadable.append))
    return visit.page("inbox.html", tickets=found, everything=everything, unreadable=unreadable)


def ticket(visit: PageVisit) -> Response:
    """Show a ticket."""
    return shown(visit, visit.host.ticket(visit.word("ticket")))


def decide(visit: PageVisit) -> Response:
    """Approve or reject a ticket."""
    ticket_id = visit.word("ticket")
    return decided(visit, ticket_id, back=f"/tickets/{ticket_id}")


def comment(visit: PageVisit) -> Response:
    """Ask or say something about a ticket."""
    ticket_id = visit.word("ticket")
    visit.host.comment(ticket_id, visit.fields["text"].strip(), by=visit.actor())
    return visit.go(f"/tickets/{ticket_id}#comments")


def decided(visit: PageVisit, ticket_id: str, *, back: str, before: Callable[[], object] = lambda: None) -> Response:
    """Decide a ticket as a form says, and go ``back``; ``before`` is called when all that is known here is right.

    One that is over is shown with how it ended.
    """
    view = visit.host.ticket(ticket_id)
    approved = _decision(visit, view.request)
    if view.status == "pending" and asked_by(visit, view.request):
        hint = f"Ask somebody else; `approvals.config.{ALLOW_SELF}: true` in the project leaves it to the rules."
        raise PageError(403, "You started this run, and somebody else decides about it.", hint=hint)
    try:
        if view.status == "pending":
            before()
        visit.host.decide(
            ticket_id,
            approved=approved,
            identity=visit.person.identity,
            evidence=None if visit.person.identity is None else hashlib.sha256(visit.body).hexdigest(),
            reason=visit.fields["reason"].strip() or None,
        )
    except GertError as error:
        found = page_error(error)
        if found.status != 410:
            raise
        return shown(visit, visit.host.ticket(ticket_id), code=410, notice=found.message, closed=True)
    visit.site.resume.soon(view.request.run_id)
    return visit.go(back)


def _decision(visit: PageVisit, request: ApprovalRequest) -> bool:
    said = visit.fields["decision"]
    if said not in ("approve", "reject"):
        raise PageError(400, "The form says neither approve nor reject.")
    if said == "approve" and request.risk_level in SERIOUS and visit.fields["read"] != "yes":
        hint = "Go back, and tick that you have read what will be run."
        raise PageError(422, f"A step of {request.risk_level} risk is approved by somebody who read it.", hint=hint)
    return said == "approve"


def asked_by(visit: PageVisit, request: ApprovalRequest) -> bool:
    """Return whether somebody asked for a ticket themselves, and the project does not leave that to the rules."""
    leaves = visit.host.approval_config.get(ALLOW_SELF) is True
    return not leaves and visit.host.is_requester(request, identity=visit.person.identity)


def shown(
    visit: PageVisit,
    view: TicketView,
    *,
    code: int = 200,
    notice: str = "",
    action: str = "",
    closed: bool = False,
) -> Response:
    """Return the page of a ticket; ``action`` is where its form goes, and one that is ``closed`` has none."""
    request, state = view.request, view.state
    return visit.page(
        "ticket.html",
        code=code,
        state=state,
        request=request,
        notice=notice,
        open=state.open and not closed,
        own=state.open and asked_by(visit, request),
        serious=request.risk_level in SERIOUS,
        command=command_of(request),
        started=_details(request),
        ended=visit.site.endings.of(request.runbook_name),
        action=action or f"/tickets/{request.ticket_id}/decide",
        waits=state.status == "answered" and state.run_status not in ("running", "queued"),
        resuming=visit.site.wanted.resume,
        problem=visit.site.resume.problem_of(request.run_id),
    )


def _details(request: ApprovalRequest) -> dict[str, Any]:
    """Return what else belongs to the command."""
    started: Mapping[str, Any] = request.document.get("command") or {}
    found = {name: started[name] for name in _STARTED if started.get(name)}
    for name, called in (request.document.get("tools") or {}).items():
        found[f"may call {name}"] = called.get("program") or "no program"
    return found


__all__ = ["SERIOUS", "asked_by", "comment", "decide", "decided", "inbox", "shown", "ticket"]
