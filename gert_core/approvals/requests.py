"""Ticket ids, approver ids and times of approval requests."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Final

from gert_core.governance.people import comparable_id

_TICKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def ticket_id(run_id: str, step_key: str, request_hash: str) -> str:
    """Return the ticket id of one request of a run: the same after a crash, different for every other request."""
    digest = hashlib.sha256(f"ticket\n{run_id}\n{step_key}\n{request_hash}".encode()).hexdigest()
    return f"t-{digest[:20]}"


def valid_ticket_id(text: str) -> bool:
    """Return whether the text is a valid ticket id; it may become a file name, so nothing else is accepted."""
    return _TICKET.fullmatch(text) is not None


def same_approver(first: str, second: str) -> bool:
    """Return whether two ids name one approver: case, character width and blanks make no difference."""
    return comparable_id(first) == comparable_id(second)


def format_time(moment: datetime) -> str:
    """Return a time as RFC 3339 text, in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


__all__ = ["comparable_id", "format_time", "same_approver", "ticket_id", "valid_ticket_id"]
