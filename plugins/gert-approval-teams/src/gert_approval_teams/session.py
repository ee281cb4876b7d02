"""The session of the provider ``teams``: each ticket is a file and a card in the channel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_approval_teams.cards import card
from gert_core.api import CheckResult, GertError
from gert_core.kit.provider_settings import address, missing, refuse_unknown, seconds, secret, variable
from gert_core.kit.ticket_sessions import NotSentError, TicketSession, ticket_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest, CheckServices, Services

KNOWN: Final = ("webhook_env", "base_url", "wait")
_LARGEST: Final = 28 * 1024
"""The most bytes of a message that Teams takes."""
_HINT: Final = "check that the workflow is on, and that its address is whole"


class TeamsSettings(Struct, frozen=True, kw_only=True):
    """What ``approvals.config`` has. ``base_url`` is where ``gert web`` is."""

    webhook_env: str
    base_url: str
    wait: float = 0.0

    def webhook(self, environ: Mapping[str, str]) -> str:
        """Return the address of the workflow, which is a secret."""
        return secret(environ, "webhook_env", self.webhook_env, "the address of the workflow")


def read_settings(config: Mapping[str, Any]) -> TeamsSettings:
    """Return the settings; raise ``UsageError`` with what is wrong in a sentence."""
    refuse_unknown(config, KNOWN, "teams")
    webhook_env, base_url = variable(config, "webhook_env"), address(config, "base_url")
    if webhook_env is None:
        raise missing("webhook_env", "name the variable that has the address of the workflow", "TEAMS_WEBHOOK")
    if base_url is None:
        raise missing("base_url", "give the address of gert web, where cards are answered", "https://gert.example.com")
    return TeamsSettings(webhook_env=webhook_env, base_url=base_url, wait=seconds(config, "wait"))


def check(services: Services) -> None:
    """Raise ``UsageError`` for settings with which no person can be asked."""
    read_settings(services.config).webhook(services.environ)


def open_session(services: Services) -> TicketSession:
    """Open the provider for one run; raise ``UsageError`` for settings that are wrong."""
    import gert_http  # noqa: F401 - before the first ticket, which is submitted at once

    settings = read_settings(services.config)
    settings.webhook(services.environ)
    store = ticket_store(services, "teams")
    return TicketSession(store, provider="teams", send=_Sender(settings, services), wait_seconds=settings.wait)


def check_settings(services: CheckServices) -> CheckResult | None:
    """Return whether the settings are complete; None where the project does not ask in Teams."""
    if services.approvals != "teams":
        return None
    try:
        settings = read_settings(services.config)
        settings.webhook(services.environ)
    except GertError as error:
        return CheckResult(status="fail", message=error.message, hint=error.hint or "")
    return CheckResult(status="ok", message=f"cards are answered at {settings.base_url}; nothing was sent to try it")


class _Sender:
    """Posts the card about a request."""

    def __init__(self, settings: TeamsSettings, services: Services) -> None:
        self._settings = settings
        self._services = services

    def __call__(self, request: ApprovalRequest, *, repeat: bool, seconds: float) -> Mapping[str, Any]:
        from gert_http import send_message

        made = card(
            request,
            link=f"{self._settings.base_url}/tickets/{request.ticket_id}",
            since=self._services.since_last(request),
            repeat=repeat,
        )
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": made}
        body = json.dumps({"type": "message", "attachments": [attachment]}, ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        if len(body) > _LARGEST:
            raise NotSentError(f"the card has {len(body)} bytes, and Teams takes {_LARGEST}", final=True)
        headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "gert-approval-teams"}
        url = self._settings.webhook(self._services.environ)
        send_message(url, body, headers, to="Teams", seconds=seconds, hint=_HINT)
        return {}


__all__ = ["KNOWN", "TeamsSettings", "check", "check_settings", "open_session", "read_settings"]
