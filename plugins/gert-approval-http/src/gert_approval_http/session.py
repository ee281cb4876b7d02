"""The session of the provider ``http``: each ticket is a file and a request to the service."""

from __future__ import annotations

import json
import secrets
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gert_approval_http.answers import token_hashes
from gert_approval_http.settings import read_settings, signing_key
from gert_core.kit.log import warning
from gert_core.kit.ticket_sessions import TicketSession, ticket_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_approval_http.settings import HttpSettings
    from gert_core.api import ApprovalRequest, ApprovalResponse, ApprovalTicket, Deadline, Services
    from gert_core.kit.tickets import TicketStore

_TOKENS: Final = 20
"""How many tokens of a ticket are good: those of the last processes that sent it."""
_HINT: Final = "the service refuses the request; its log may say why"


def open_session(services: Services) -> TicketSession:
    """Open the provider for one run; raise ``UsageError`` for settings that are wrong."""
    import gert_http  # noqa: F401 - before the first ticket, which is submitted at once

    settings = read_settings(services.config)
    settings.target(services.environ)
    store = ticket_store(services, "http")
    send = _Sender(settings, services, store)
    if settings.poll is None:
        return TicketSession(store, provider="http", send=send, wait_seconds=settings.wait)
    return _PollingSession(store, settings.poll, send, settings.wait)


class _Sender:
    """Posts a request, signed where there is a key.

    A repeated request has the token of the first one while the process lives. Another process cannot know it, since
    only its hash is kept: it makes one more, and the earlier ones stay good for their ticket.
    """

    def __init__(self, settings: HttpSettings, services: Services, store: TicketStore) -> None:
        self._settings = settings
        self._services = services
        self._store = store
        self._tokens: dict[str, str] = {}

    def __call__(self, request: ApprovalRequest, *, repeat: bool, seconds: float) -> Mapping[str, Any]:
        from gert_http import send_message, signature

        document: dict[str, Any] = {
            "event": "approval_requested",
            "repeat": repeat,
            "request": request.to_json(),
            "since_last": self._services.since_last(request),
        }
        kept: dict[str, Any] = {}
        if self._settings.base_url is not None:
            token, kept = self._token(request.ticket_id)
            url = f"{self._settings.base_url}/callbacks/http/{request.ticket_id}"
            document["callback"] = {"url": url, "token": token}
        body = json.dumps(document, ensure_ascii=False, default=str).encode("utf-8", "replace")
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "gert-approval-http",
            "Gert-Delivery": request.ticket_id,
        }
        environ = self._services.environ
        if (key := signing_key(environ)) is not None:
            headers["Gert-Signature"] = signature(key, body, at=int(time.time()))
        send_message(self._settings.target(environ), body, headers, to="the service", seconds=seconds, hint=_HINT)
        return kept

    def _token(self, ticket_id: str) -> tuple[str, dict[str, Any]]:
        """Return the token of a ticket, and the hashes that are kept of all that were made, before they are sent."""
        before = dict(self._store.sent(ticket_id) or {})
        hashes = token_hashes(before)
        token = self._tokens.get(ticket_id)
        if token is None:
            token = self._tokens[ticket_id] = secrets.token_urlsafe(32)
            hashes = [*hashes, sha256(token.encode()).hexdigest()][-_TOKENS:]
            self._store.keep_sent(ticket_id, {**before, "token_sha256": hashes})
        return token, {"token_sha256": hashes}


class _PollingSession(TicketSession):
    """Answers are fetched from the service, stored as files like all others, and read from there."""

    def __init__(self, store: TicketStore, url: str, send: _Sender, wait_seconds: float) -> None:
        super().__init__(store, provider="http", send=send, wait_seconds=wait_seconds)
        self._tickets = store
        self._url = url
        self._looked = 0.0

    def look(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Fetch answers, at most once in two seconds, and return one that was not returned before."""
        if time.monotonic() - self._looked >= _EVERY:
            self._fetch(ticket.ticket_id, deadline)
            self._looked = time.monotonic()
        return super().look(ticket, deadline)

    def _fetch(self, ticket_id: str, deadline: Deadline) -> None:
        from gert_http import NoAnswerError, get

        from gert_approval_http.answers import NoResponseError, read_answers

        left = deadline.remaining()
        if deadline.stopped:
            return
        try:
            limit = _FETCH if left is None else min(left, _FETCH)
            found = get(f"{self._url}/{ticket_id}", {"Accept": "application/json"}, limit)
            if found.status in (204, 404):
                return
            if found.status != 200:
                raise NoResponseError(f"it answered with {found.status}")
            answers = read_answers(found.body, ticket_id)
        except (NoAnswerError, NoResponseError) as error:
            warning("approvals", "answers to ticket %s cannot be fetched: %s", ticket_id, error)
            return
        known = {one for _, given in self._tickets.answers(ticket_id) if (one := _facts(given)) is not None}
        for answer in answers:
            if _facts(answer) not in known:
                self._tickets.answer(answer)


_EVERY: Final = 2.0
"""Seconds between two looks at the service."""
_FETCH: Final = 5.0
"""Seconds that one of them may take."""


def _facts(answer: object) -> tuple[Any, ...] | None:
    """Return what makes an answer the same as another."""
    names = ("approved", "approver_id", "signature", "evidence")
    return tuple(getattr(answer, name) for name in names) if hasattr(answer, "approver_id") else None


__all__ = ["open_session"]
