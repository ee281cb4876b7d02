"""The names and times of tickets."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

_TICKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def ticket_id(run_id: str, step_key: str) -> str:
    """The ticket of one execution of a step: the same after a crash, another for every other step."""
    digest = hashlib.sha256(f"ticket\n{run_id}\n{step_key}".encode()).hexdigest()
    return f"t-{digest[:20]}"


def valid_ticket_id(text: str) -> bool:
    """Whether the text can be a ticket's name; it may become a file name, so nothing else passes."""
    return _TICKET.fullmatch(text) is not None


def same_person(first: str, second: str) -> bool:
    """Whether two ids name one approver: spelling in case, width and blanks makes nobody a second person."""
    return person(first) == person(second)


def person(approver_id: str) -> str:
    """The form in which approver ids are compared."""
    return " ".join(unicodedata.normalize("NFKC", approver_id).casefold().split())


def parse_time(text: str) -> datetime:
    """An RFC 3339 time; raises ``ValueError`` when it is none or has no zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r} has no zone")
    return moment.astimezone(UTC)


def format_time(moment: datetime) -> str:
    """The RFC 3339 text of a time, in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


__all__ = ["format_time", "parse_time", "person", "same_person", "ticket_id", "valid_ticket_id"]
