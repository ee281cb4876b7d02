"""Read times that gert did not write itself: RFC 3339 text with a time zone, of years that can be computed with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

FIRST_YEAR: Final = 1970
"""The first year of times in files; no run was earlier."""
LAST_YEAR: Final = 9000
"""The last year of times in files; later ones leave the range of clocks when another time is added."""


def parse_time(text: str) -> datetime:
    """Return an RFC 3339 time in UTC; raise ``ValueError`` when it is invalid, without time zone or far away."""
    return checked_time(datetime.fromisoformat(text)).astimezone(UTC)


def checked_time(moment: datetime) -> datetime:
    """Return a time that can be converted and computed with; raise ``ValueError`` for others."""
    if moment.tzinfo is None:
        raise ValueError(f"the time {moment.isoformat()} has no time zone")
    if not FIRST_YEAR <= moment.year < LAST_YEAR:
        raise ValueError(f"the time {moment.isoformat()} is not between the years {FIRST_YEAR} and {LAST_YEAR}")
    return moment


__all__ = ["FIRST_YEAR", "LAST_YEAR", "checked_time", "parse_time"]
