"""Make a personal link to a ticket of ``gert web``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gert_core.api import ErrorKind, RunError, UsageError
from gert_core.governance.people import LOGIN, comparable_id
from gert_core.hosting.bridges import LINK_KEY, link_key
from gert_core.kit.durations import parse_duration
from gert_core.kit.links import sign_link
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.approvals.inbox import TicketEntry
    from gert_core.governance.people import People

_WEB: Final = ("http://", "https://")


def personal_link(
    entry: TicketEntry,
    person: str,
    *,
    base_url: object,
    expires: str,
    people: People,
    environ: Mapping[str, str],
) -> str:
    """Return the address at which one person can decide a ticket, once; raise when it could not count."""
    now, request = datetime.now(UTC), entry.request
    key = link_key(environ)
    if key is None:
        raise UsageError(
            "there is no key to sign a link with",
            kind=ErrorKind.SIGNATURE_KEY_MISSING,
            hint=f"set {LINK_KEY} to that of gert web; `gert keys new links --for link` makes one",
        )
    if (status := entry.status(now)) != "pending":
        raise RunError(f"ticket {request.ticket_id} is {status}", kind=ErrorKind.TICKET_RESOLVED)
    found = people.named(person)
    if found is None or not any(space == LOGIN for space, _ in found.identities):
        raise UsageError(
            f"no policy gives a {LOGIN} to {person!r}, so an answer with the link would not count",
            kind=ErrorKind.APPROVER_UNKNOWN,
            hint=f"add {LOGIN}: NAME to that person under people in a policy",
        )
    if request.approvers and comparable_id(found.id) not in {comparable_id(name) for name in request.approvers}:
        raise UsageError(
            f"{found.id!r} is not one of those who may approve ticket {request.ticket_id}",
            kind=ErrorKind.APPROVAL_NOT_ALLOWED,
            hint=f"these may: {', '.join(request.approvers)}",
        )
    until = now + timedelta(seconds=_seconds(expires))
    if request.expires_at:
        until = min(until, parse_time(request.expires_at))
    return f"{_address(base_url)}/a/{sign_link(request.ticket_id, found.id, expires=until, key=key)}"


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--expires {text!r}: {error}", hint="such as 30m or 1h") from None


def _address(url: object) -> str:
    parts = urlsplit(url) if isinstance(url, str) else None
    if not isinstance(url, str) or parts is None or not url.startswith(_WEB) or not parts.netloc:
        raise UsageError(
            "the address of gert web is not known",
            hint="give it with --base-url, or as approvals.config.base_url in gert-project.yaml",
        )
    return url.rstrip("/")


__all__ = ["personal_link"]
