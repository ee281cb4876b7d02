"""The session of the provider ``slack``: each ticket is a file and a message in the channel."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gert_approval_slack.blocks import escaped, open_message
from gert_approval_slack.settings import SlackSettings, read_settings
from gert_core.kit.ticket_sessions import NotSentError, TicketSession, ticket_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_approval_slack.calls import SlackCalls
    from gert_core.api import ApprovalRequest, Services
    from gert_core.kit.tickets import TicketStore


def check(services: Services) -> None:
    """Raise ``UsageError`` for settings with which no person can be asked."""
    read_settings(services.config).token(services.environ)


def open_session(services: Services) -> TicketSession:
    """Open the provider for one run; raise ``UsageError`` for settings that are wrong."""
    import gert_approval_slack.calls  # noqa: F401 - before the first ticket, which is submitted at once

    settings = read_settings(services.config)
    settings.token(services.environ)
    store = ticket_store(services, "slack")
    return TicketSession(store, provider="slack", send=_Sender(settings, services, store), wait_seconds=settings.wait)


def ticket_link(settings: SlackSettings, ticket_id: str) -> str | None:
    """Return the address of the page of a ticket, which asks who you are."""
    return None if settings.base_url is None else f"{settings.base_url}/tickets/{ticket_id}"


class _Sender:
    """Posts the message about a request."""

    def __init__(self, settings: SlackSettings, services: Services, store: TicketStore) -> None:
        self._settings = settings
        self._services = services
        self._store = store

    def __call__(self, request: ApprovalRequest, *, repeat: bool, seconds: float) -> Mapping[str, Any]:
        from gert_approval_slack.calls import SlackCalls

        settings = self._settings
        calls = SlackCalls(settings.token(self._services.environ), settings.api_url)
        message = open_message(
            request,
            link=ticket_link(settings, request.ticket_id),
            since=self._services.since_last(request),
            former=_REPEATED if repeat else self._former(request, calls, seconds / 4),
        )
        posted = calls.call(
            "chat.postMessage",
            {"channel": settings.channel, **message, "unfurl_links": False, "unfurl_media": False},
            seconds=seconds,
        )
        channel, ts = posted.get("channel"), posted.get("ts")
        if not isinstance(channel, str) or not isinstance(ts, str):
            raise NotSentError("Slack's answer has neither channel nor time of the message", unsure=True)
        return {"messages": [{"channel": channel, "ts": ts}]}

    def _former(self, request: ApprovalRequest, calls: SlackCalls, seconds: float) -> str:
        """Return a line about the message of the request that this one replaces, when that is known."""
        if request.generation <= 1:
            return ""
        for ticket_id in self._store.tickets():
            before = self._store.get(ticket_id)
            if before is None or (before.step_key, before.generation) != (request.step_key, request.generation - 1):
                continue
            for message in (self._store.sent(ticket_id) or {}).get("messages") or ():
                asked = {"channel": message["channel"], "message_ts": message["ts"]}
                with suppress(NotSentError):
                    found = str(calls.call("chat.getPermalink", asked, seconds=seconds, form=True).get("permalink"))
                    if found.startswith("https://"):
                        return f"It replaces <{escaped(found)}|the request before>, which changed."
        return "It replaces an earlier request, which changed."


_REPEATED = "There may be an earlier message about this ticket: sending that one was interrupted. Both have one ticket."


__all__ = ["check", "open_session", "ticket_link"]
