"""``gert reject``: reject a ticket of the inbox."""

from __future__ import annotations

from typing import Annotated

from gert_core.cli.commands.approve import answer
from gert_core.cli.lazy import typer
from gert_core.cli.stores import store_option


def reject(
    ctx: typer.Context,
    ticket: Annotated[str, typer.Argument(help="The ticket, as `gert approvals list` shows it.")],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who answers; default: the current user.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the trace.")] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Reject a pending request."""
    return answer(ctx, ticket, approved=False, as_=as_, reason=reason, store=store, json=json)


__all__ = ["reject"]
