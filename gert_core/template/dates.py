"""The function ``date``: a time as text, the same on every machine and in every locale."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.kit.excerpts import part, quoted
from gert_core.template.arguments import capped, text_of
from gert_core.template.data import kind_of
from gert_core.template.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_DIRECTIVE: Final = re.compile(r"%(.?)", re.DOTALL)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def date(form: object, subject: object) -> str:
    """Return a time in a format of ``%`` directives, each of which means the same everywhere."""
    time = _time(subject)

    def replace(found: re.Match[str]) -> str:
        directive = _DIRECTIVES.get(found[1])
        if directive is None:
            known = " ".join(f"%{letter}" for letter in _DIRECTIVES)
            raise TemplateError(f"`date` does not know `{found[0]}`", hint=f"it knows {known}")
        return directive(time)

    return capped(_DIRECTIVE.sub(replace, capped(text_of(form, "date"))))


def _time(subject: object) -> datetime:
    """Return the time of a timestamp as in traces (RFC 3339), of a date, or of the seconds since 1970."""
    from datetime import UTC, datetime, timedelta

    try:
        if isinstance(subject, (int, float)) and not isinstance(subject, bool):
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=subject)
        if isinstance(subject, str):
            found = datetime.fromisoformat(subject.strip())
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found
    except (ValueError, OverflowError):
        pass
    what = f"the string {quoted(part(subject, 0, 40))}" if isinstance(subject, str) else kind_of(subject)
    hint = 'give the format first: `date "%Y-%m-%d" .run.started`'
    raise TemplateError(f'`date` needs a time such as "2026-01-31T09:30:00Z", not {what}', hint=hint)


def _offset(time: datetime) -> str:
    minutes = _delta(time.utcoffset()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"


def _seconds(time: datetime) -> int:
    from datetime import UTC, datetime

    return _delta(time - datetime(1970, 1, 1, tzinfo=UTC))


def _delta(delta: Any) -> int:
    return int(delta.days) * 86_400 + int(delta.seconds)


_DIRECTIVES: Final[dict[str, Callable[[datetime], str]]] = {
    "Y": lambda time: f"{time.year:04}",
    "y": lambda time: f"{time.year % 100:02}",
    "m": lambda time: f"{time.month:02}",
    "d": lambda time: f"{time.day:02}",
    "e": lambda time: f"{time.day:2}",
    "H": lambda time: f"{time.hour:02}",
    "I": lambda time: f"{(time.hour - 1) % 12 + 1:02}",
    "M": lambda time: f"{time.minute:02}",
    "S": lambda time: f"{time.second:02}",
    "f": lambda time: f"{time.microsecond:06}",
    "p": lambda time: "AM" if time.hour < 12 else "PM",
    "j": lambda time: f"{time.timetuple().tm_yday:03}",
    "u": lambda time: str(time.isoweekday()),
    "G": lambda time: f"{time.isocalendar().year:04}",
    "V": lambda time: f"{time.isocalendar().week:02}",
    "a": lambda time: _DAYS[time.weekday()][:3],
    "A": lambda time: _DAYS[time.weekday()],
    "b": lambda time: _MONTHS[time.month - 1][:3],
    "B": lambda time: _MONTHS[time.month - 1],
    "F": lambda time: f"{time.year:04}-{time.month:02}-{time.day:02}",
    "T": lambda time: f"{time.hour:02}:{time.minute:02}:{time.second:02}",
    "z": _offset,
    "s": lambda time: str(_seconds(time)),
    "%": lambda time: "%",
}

__all__ = ["date"]
