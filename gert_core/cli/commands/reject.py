"""``gert reject``: reject a ticket of the inbox."""

from __future__ import annotations

from gert_core.cli.commands.approve import As, AsJson, Reason, Ticket, answer
from gert_core.cli.params import Context  # noqa: TC001 - the annotations are read at run time


def reject(ctx: Context, ticket: Ticket, as_: As = None, reason: Reason = None, json: AsJson = False) -> int:
    """Reject a pending request."""
    return answer(ctx, ticket, approved=False, as_=as_, reason=reason, json=json)


__all__ = ["reject"]
