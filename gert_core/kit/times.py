"""Read times that gert did not write itself: RFC 3339 text of years that can be computed with, or a time ago."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from gert_core.api.errors import UsageError

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


def moment(text: str, *, what: str) -> str:
    """Return a moment as traces have it: given as RFC 3339, in UTC unless it says otherwise, or as a time ago.

    Raise ``UsageError`` for other text; ``what`` is the option that it was given for.
    """
    from gert_core.kit.time_spans import parse_duration

    try:
        given = datetime.fromisoformat(text)
        found = given.astimezone(UTC) if given.tzinfo is not None else given.replace(tzinfo=UTC)
    except OverflowError:
        raise _no_moment(text, what) from None
    except ValueError:
        try:
            found = datetime.now(UTC) - timedelta(seconds=parse_duration(text))
        except (ValueError, OverflowError):
            raise _no_moment(text, what) from None
    return f"{found.isoformat(timespec='microseconds')[:26]}Z"


def _no_moment(text: str, what: str) -> UsageError:
    hint = "write a time such as 30m, 12h or 7d, or a moment such as 2026-11-01 or 2026-11-01T12:00:00Z"
    return UsageError(f"{what} takes a time or a moment, not {text!r}", hint=hint)


__all__ = ["FIRST_YEAR", "LAST_YEAR", "checked_time", "moment", "parse_time"]
