"""Add a comment to a ticket: a question or a remark that everybody sees, and never an answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gert_core.api import Comment
from gert_core.approvals import inbox
from gert_core.engine.known_secrets import refuse_actor, secrets_of
from gert_core.engine.run import default_actor
from gert_core.kit.tickets import TicketStore
from gert_core.kit.wire import as_text
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import RunStore


def comment_on(store: RunStore, ticket_id: str, text: str, *, by: str | None, environ: Mapping[str, str]) -> Comment:
    """Keep a comment with its ticket, without the secrets that are known here, and return it."""
    entry = inbox.find(store, ticket_id)
    who = default_actor(environ) if by is None else by
    refuse_actor(entry.run, who, environ)
    hidden = as_text(secrets_of(entry.run, environ).mask_text(text))
    comment = Comment(by=who, at=timestamp(datetime.now(UTC)), text=hidden)
    TicketStore(entry.run).comment(ticket_id, comment)
    return comment


__all__ = ["comment_on"]
