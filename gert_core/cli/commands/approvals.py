"""``gert approvals``: list, show and comment approval requests, and make personal links to them."""

from __future__ import annotations

import json as json_
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.approvals.inbox import TicketEntry, Unreadable, entries, find
from gert_core.approvals.known import checked_against
from gert_core.cli.lazy import typer
from gert_core.cli.render.table import table
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.session import project_here, registry_for
from gert_core.cli.stores import store_of, store_option
from gert_core.kit.approval_screen import describe, width
from gert_core.kit.display import readable_key, readable_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.approvals.checks import Approvals
    from gert_core.cli.session import Options
    from gert_core.documents.project import Project

_HEADER: Final = ("TICKET", "STATUS", "RISK", "STEP", "REQUESTED BY", "APPROVALS", "EXPIRES", "RUN")


def list_(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Also tickets that are answered, resolved or expired.")
    ] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List the tickets of pending requests."""
    now = datetime.now(UTC)
    unreadable: list[Unreadable] = []
    project = project_here()
    tickets = entries(
        store_of(project, ctx.obj, store),
        report=unreadable.append,
        known=_known(project, ctx.obj),
        unresolved=not everything,
    )
    found = [e for e in tickets if everything or e.status(now) == "pending"]
    if json:
        document = {"approvals": [entry.to_json(now) for entry in found]}
        out(json_.dumps({**document, "unreadable": [what.to_json() for what in unreadable]}, ensure_ascii=False))
        return 0
    if not found:
        err("no pending tickets")
    else:
        for line in table(_HEADER, [_row(entry, now) for entry in found], column=1, colour=_colour):
            out(line)
    for what in unreadable:
        out(escape(f"{what.ticket_id or '-'}  unreadable  run {what.run_id}: {what.problem}"))
    return 0


def show(
    ctx: typer.Context,
    ticket: Annotated[str, typer.Argument(help="The ticket.")],
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show the request behind a ticket in full."""
    now = datetime.now(UTC)
    project = project_here()
    entry = find(store_of(project, ctx.obj, store), ticket, known=_known(project, ctx.obj))
    for what in entry.unreadable:
        err(escape(f"an answer to ticket {ticket} is left out: {what.problem}"))
    if json:
        out(json_.dumps(entry.to_json(now), ensure_ascii=False))
    else:
        _show(entry, now)
    return 0


def comment(
    ctx: typer.Context,
    ticket: Annotated[str, typer.Argument(help="The ticket.")],
    text: Annotated[str, typer.Argument(help="What you ask or say about it.")],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who says it; default: the current user.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Ask or say something about a ticket; everybody who looks at it sees it, and it is never an answer."""
    from gert_core.hosting.comments import comment_on

    project, environ = project_here(), ctx.obj.environ
    said = comment_on(store_of(project, ctx.obj, store), ticket, text, by=as_, environ=environ)
    out(json_.dumps(said.to_json(), ensure_ascii=False) if json else escape(f"{said.by} about {ticket}: {said.text}"))
    return 0


def link(
    ctx: typer.Context,
    ticket: Annotated[str, typer.Argument(help="The ticket.")],
    person: Annotated[str, typer.Option("--for", metavar="ID", help="The person who may decide with it.")],
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="Where gert web is; default: approvals.config.base_url."),
    ] = None,
    expires: Annotated[
        str, typer.Option("--expires", metavar="TIME", help="How long it works, at most until the ticket expires.")
    ] = "1h",
    store: Annotated[str | None, store_option()] = None,
) -> int:
    """Print a personal link to a ticket of gert web: it is for one person, and can be used once."""
    from gert_core.hosting.personal_links import personal_link

    project, options = project_here(), ctx.obj
    entry = find(store_of(project, options, store), ticket)
    known = _known(project, options)()
    base = base_url or (project.model.approvals.config.get("base_url") if project is not None else None)
    out(personal_link(entry, person, base_url=base, expires=expires, people=known.people, environ=options.environ))
    return 0


def _row(entry: TicketEntry, now: datetime) -> tuple[str, ...]:
    request = entry.request
    return (
        request.ticket_id,
        entry.status(now),
        escape(request.risk_level),
        escape(readable_key(request.step_key)),
        escape(request.requested_by),
        _counted(entry),
        escape(readable_time(request.expires_at, now=now, clock=False)),
        escape(request.run_id),
    )


def _known(project: Project | None, options: Options) -> Callable[[], Approvals]:
    return checked_against(project, lambda: registry_for(project, options), options.environ)


def _counted(entry: TicketEntry) -> str:
    """Say how many approvals count, and how many more there are whose signature cannot be verified here."""
    more = len(entry.standing.unverified)
    return f"{len(entry.approvers)} of {entry.request.min_approvers}" + (f", {more} unverified" if more else "")


def _colour(status: str) -> str:
    return {"pending": "yellow", "answered": "cyan", "approved": "green"}.get(status, "red")


def _show(entry: TicketEntry, now: datetime) -> None:
    """Print a request as the prompt shows it, with what is known about the ticket."""
    request = entry.request
    more = {
        "status": entry.status(now),
        "run": request.run_id,
        "requested": f"by {request.requested_by} {readable_time(request.created, now=now)}",
        "approvals": _counted(entry),
        "hash": request.request_hash,
    }
    title, *lines = describe(request, columns=width(), title=f"Ticket {request.ticket_id}", more=more)
    out(paint(title, "bold"))
    for line in lines:
        out(line)
    for said in entry.comments:
        out(escape(f"{said.by}, {readable_time(said.at, now=now)}: {said.text}"))


__all__ = ["comment", "link", "list_", "show"]
