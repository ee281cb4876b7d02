"""The session of the provider ``inbox``: tickets as files, and no message about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.provider_settings import seconds
from gert_core.kit.ticket_sessions import TicketSession, ticket_store

if TYPE_CHECKING:
    from gert_core.api import Services


def open_session(services: Services) -> TicketSession:
    """Open the provider for one run; with ``config: {wait: SECONDS}`` it waits for answers that long."""
    return TicketSession(ticket_store(services, "inbox"), wait_seconds=seconds(services.config, "wait"))


__all__ = ["open_session"]
