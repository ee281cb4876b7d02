"""The spelling of durations, in documents and on the command line."""

from __future__ import annotations

import re
from math import isfinite
from typing import Final

from gert_core.kit.excerpts import quoted

_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
DURATION_PATTERN: Final = (
    rf"^(?=.*[1-9])(?:{_NUMBER}|(?=[0-9])(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m(?!s))?"
    rf"(?:{_NUMBER}s)?(?:{_NUMBER}ms)?)$"
)
"""What durations given as text look like."""
LONGEST: Final = 1000 * 366 * 86400.0
"""The longest duration, in seconds."""
_PART: Final = rf"({_NUMBER})(ms|d|h|m|s)?"
LENGTH: Final = 60
"""The most characters of a duration."""
_SIMPLE: Final = frozenset("smhd")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def parse_duration(value: str | float) -> float:
    """Return the seconds of ``1h30m``, ``500ms`` or a number; raise ``ValueError`` with a message otherwise."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isfinite(value) and value > 0:
            return _bounded(float(value), value)
        raise ValueError(f"a duration must be a positive number of seconds, not {value}")
    if isinstance(value, str) and (seconds := _simple(value)) > 0:
        return _bounded(seconds, value)
    if not isinstance(value, str) or len(value) > LENGTH or not re.fullmatch(DURATION_PATTERN, value):
        shown = quoted(value) if isinstance(value, str) else repr(value)
        raise ValueError(f"{shown} is not a valid duration; write one like 30s, 5m, 1h30m or 500ms")
    return _bounded(sum(float(number) * _SECONDS[unit or None] for number, unit in re.findall(_PART, value)), value)


def _simple(value: str) -> float:
    """Return the seconds of a whole number with one unit, 0 for all else: nearly all are of this kind."""
    number, unit = value[:-1], value[-1:]
    simple = unit in _SIMPLE and number.isdecimal() and value.isascii() and len(value) <= LENGTH
    return float(number) * _SECONDS[unit] if simple else 0.0


def _bounded(seconds: float, written: object) -> float:
    """Return a duration that can be added to a time; raise ``ValueError`` for longer ones."""
    if seconds > LONGEST:
        raise ValueError(f"{written!r} is longer than a thousand years; write a shorter duration")
    return seconds


def duration_text(seconds: float) -> str:
    """Return seconds as documents spell them: ``1h30m``, ``20m``, ``2.5s``, ``500ms``."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    parts = ((f"{hours:.0f}", "h"), (f"{minutes:.0f}", "m"), (f"{left:g}", "s"))
    return "".join(number + unit for number, unit in parts if number != "0") or "0s"


def recorded_seconds(text: object) -> float | None:
    """Return the seconds of a time as traces have it (``1.804s``); None for what is not one, such as ``inf``."""
    if text is None:
        return None
    try:
        seconds = float(str(text).removesuffix("s"))
    except ValueError:
        return None
    return seconds if -LONGEST <= seconds <= LONGEST else None


__all__ = ["DURATION_PATTERN", "LENGTH", "LONGEST", "duration_text", "parse_duration", "recorded_seconds"]
