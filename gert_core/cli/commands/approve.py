"""``gert approve``: approve a ticket of the inbox."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated

from gert_core.approvals.inbox import find, respond
from gert_core.approvals.known import checked_against
from gert_core.cli.lazy import typer
from gert_core.cli.render.result import following, show_following
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.session import project_here, registry_for
from gert_core.cli.stores import store_of, store_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import ApprovalResponse
    from gert_core.approvals.checks import Approvals
    from gert_core.approvals.inbox import TicketEntry


def approve(
    ctx: typer.Context,
    ticket: Annotated[str, typer.Argument(help="The ticket, as `gert approvals list` shows it.")],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who answers; default: the current user.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the trace.")] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Approve a pending request; the answer is signed when GERT_APPROVAL_SIGNING_KEY is set."""
    return answer(ctx, ticket, approved=True, as_=as_, reason=reason, store=store, json=json)


def answer(
    ctx: typer.Context,
    ticket: str,
    *,
    approved: bool,
    as_: str | None,
    reason: str | None,
    store: str | None,
    json: bool,
) -> int:
    """Write an answer to a ticket and print what is still missing."""
    from gert_core.engine.known_secrets import refuse_secrets
    from gert_core.engine.run import default_actor

    project, environ = project_here(), ctx.obj.environ
    registry = registry_for(project, ctx.obj)
    known = checked_against(project, lambda: registry, environ)
    kept = store_of(project, ctx.obj, store)
    entry = find(kept, ticket, known=known)
    approver = default_actor(environ) if as_ is None else as_
    refuse_secrets(entry.run, reason or "", approver, environ)
    response = respond(
        entry,
        approved=approved,
        approver=approver,
        reason=reason,
        environ=environ,
        schemes=registry.signature_scheme,
    )
    entry = find(kept, ticket, known=known)
    for what in entry.unreadable:
        err(escape(f"an answer to ticket {ticket} is left out: {what.problem}"))
    if json:
        out(json_.dumps(_json(entry, response, known), ensure_ascii=False))
    else:
        _say(entry, response, known)
    return 0


def _say(entry: TicketEntry, response: ApprovalResponse, known: Callable[[], Approvals]) -> None:
    request = entry.request
    signed = f", signed with {response.signature_alg}" if response.signature else ""
    verb = "Approved" if response.approved else "Rejected"
    out(escape(f"{verb} {request.step_id} of {request.runbook_name} as {response.approver_id}{signed}."))
    missing = entry.missing
    if response.approved and (why := entry.why_not(response.approver_id)) is not None:
        out(escape(f"This approval does not count: {why}."))
    if response.approved and missing > 0:
        out(f"{missing} more approval{'s' if missing > 1 else ''} needed.")
    show_following(entry.run, known=known)


def _json(entry: TicketEntry, response: ApprovalResponse, known: Callable[[], Approvals]) -> dict[str, object]:
    return {
        "ticket_id": entry.request.ticket_id,
        "run_id": entry.request.run_id,
        "step_id": entry.request.step_id,
        "response": response.to_json(),
        "missing": entry.missing,
        "problem": entry.why_not(response.approver_id) if response.approved else None,
        "next": following(entry.run, known=known),
    }


__all__ = ["answer", "approve"]
