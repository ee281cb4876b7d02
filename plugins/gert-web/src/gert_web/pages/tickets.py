"""``/tickets``: the inbox, one ticket with everything that its approval means, and deciding it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.kit.approval_screen import command_of
from gert_web.problems import PageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from gert_core.api import ApprovalRequest
    from gert_core.hosting import TicketView
    from gert_web.site import PageVisit

SERIOUS: Final = ("high", "critical")
"""The risks for which a person says that they have read the command."""
_STARTED: Final = ("program", "connect", "method", "stdin", "env", "cwd")
_OPEN: Final = ("pending", "answered")


def inbox(visit: PageVisit) -> Response:
    """Show the tickets that wait."""
    everything = visit.query("all") == "1"
    found = list(visit.host.tickets(status=None if everything else "pending"))
    return visit.page("inbox.html", tickets=found, everything=everything)


def ticket(visit: PageVisit) -> Response:
    """Show a ticket."""
    return _shown(visit, visit.host.ticket(visit.word("ticket")))


def decide(visit: PageVisit) -> Response:
    """Approve or reject a ticket."""
    ticket_id = visit.word("ticket")
    view = visit.host.ticket(ticket_id)
    approved = _decision(visit, view.request)
    refuse_own(visit, view.request)
    visit.host.decide(
        ticket_id,
        approved=approved,
        identity=visit.person.identity,
        reason=visit.fields["reason"].strip() or None,
    )
    return visit.go(f"/tickets/{ticket_id}")


def _decision(visit: PageVisit, request: ApprovalRequest) -> bool:
    said = visit.fields["decision"]
    if said not in ("approve", "reject"):
        raise PageError(400, "The form says neither approve nor reject.")
    if said == "approve" and request.risk_level in SERIOUS and visit.fields["read"] != "yes":
        hint = "Go back, and tick that you have read what will be run."
        raise PageError(422, f"A step of {request.risk_level} risk is approved by somebody who read it.", hint=hint)
    return said == "approve"


def refuse_own(visit: PageVisit, request: ApprovalRequest) -> None:
    """Raise ``PageError`` for somebody who decides about what they asked for."""
    if is_own(visit, request):
        hint = "Ask somebody else; `approvals.config.allow_self: true` in the project leaves it to the rules."
        raise PageError(403, "You started this run, and somebody else decides about it.", hint=hint)


def is_own(visit: PageVisit, request: ApprovalRequest) -> bool:
    """Return whether somebody asked for a ticket themselves, and the project does not leave that to the rules."""
    return visit.person.name.casefold() == request.requested_by.casefold()


def _shown(visit: PageVisit, view: TicketView) -> Response:
    request = view.request
    return visit.page(
        "ticket.html",
        view=view,
        request=request,
        status=view.status,
        open=view.status == "pending",
        command=command_of(request),
        started=_details(request),
        since=view.since_last,
        ended=visit.site.endings.of(request.runbook_name),
        own=is_own(visit, request),
        serious=request.risk_level in SERIOUS,
        run=visit.host.run(request.run_id),
    )


def _details(request: ApprovalRequest) -> dict[str, Any]:
    """Return what else belongs to the command."""
    started: Mapping[str, Any] = request.document.get("command") or {}
    found = {name: started[name] for name in _STARTED if started.get(name)}
    for name, called in (request.document.get("tools") or {}).items():
        found[f"may call {name}"] = called.get("program") or "no program"
    return found


__all__ = ["SERIOUS", "decide", "inbox", "is_own", "refuse_own", "ticket"]
