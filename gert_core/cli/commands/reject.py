"""``gert reject``: reject a ticket of the inbox."""

from __future__ import annotations

from typing import Annotated

from gert_core.cli.commands.approve import answer
from gert_core.cli.lazy import typer


def reject(
    ctx: typer.Context,
    ticket: Annotated[str, typer.Argument(help="The ticket, as `gert approvals list` shows it.")],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who answers; default: the current user.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the trace.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Reject a pending request."""
    return answer(ctx, ticket, approved=False, as_=as_, reason=reason, json=json)


__all__ = ["reject"]
