"""Periods of time: that of a report in words, and its division into hours, days or weeks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from gert_core.kit.time_spans import duration_text, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS: Final = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_MOST: Final = 42
"""How many buckets a trend has at most, so that it fits into a line."""
_MONDAY: Final = datetime(1969, 12, 29, tzinfo=UTC)
"""A Monday, from which all buckets are counted, so that days are days and weeks begin on Monday."""
_SIZES: Final = (
    (timedelta(hours=1), "%Y-%m-%d %H:00"),
    (timedelta(days=1), "%Y-%m-%d"),
    (timedelta(days=7), "%Y-%m-%d"),
    (timedelta(days=28), "%Y-%m-%d"),
    (timedelta(days=364), "%Y-%m-%d"),
)


class Division:
    """A period in equal parts: the smallest of hours, days, weeks, four weeks or years that make a line of them."""

    def __init__(self, first: datetime, last: datetime) -> None:
        for size, label in _SIZES:
            self._size, self._label = size, label
            self._begin = _begin(first, size)
            self.count = (last - self._begin) // size + 1
            if self.count <= _MOST:
                break

    def at(self, moment: datetime) -> int:
        """Return the number of the bucket that a moment is in."""
        return min(max((moment - self._begin) // self._size, 0), self.count - 1)

    def begins(self) -> Iterable[tuple[str, str]]:
        """Yield the first moment of each bucket and how it is shown."""
        for number in range(self.count):
            moment = self._begin + number * self._size
            yield f"{moment:%Y-%m-%dT%H:%M:%SZ}", moment.strftime(self._label)


def _begin(moment: datetime, size: timedelta) -> datetime:
    """Return the first moment of the bucket that a moment is in; the calendar begins with the year 1."""
    try:
        return _MONDAY + (moment - _MONDAY) // size * size
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def started_at(text: str | None) -> datetime | None:
    """Return the moment that a run began; None when that is not known."""
    try:
        moment = datetime.fromisoformat(text or "")
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def day_of(moment: datetime) -> str:
    """Return the day of a moment."""
    return moment.strftime("%Y-%m-%d")


def week_of(moment: datetime) -> str:
    """Return the week of a moment, as ISO 8601 numbers it."""
    year, week, _ = moment.isocalendar()
    return f"{year}-W{week:02}"


def period_words(since: str | None) -> str:
    """Return ``--since`` in words: ``last 7 days``, ``since 2026-11-01``; empty without one."""
    if since is None:
        return ""
    if _is_moment(since):
        return f"since {since}"
    seconds = parse_duration(since)
    for size, name in _UNITS:
        if seconds % size == 0:
            count = int(seconds // size)
            return f"last {name}" if count == 1 else f"last {count} {name}s"
    return f"last {duration_text(seconds)}"


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


__all__ = ["Division", "day_of", "period_words", "started_at", "week_of"]
