"""Durations in documents: the field type for step models, and their spelling."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated, Final

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gert_core.kit.time_spans import DURATION_PATTERN, LENGTH, LONGEST, duration_text, parse_duration

_UNITS: Final = {
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
}
"""How others spell the units."""


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise PydanticCustomError("duration_type", "should be a duration such as 30s")
    try:
        return parse_duration(value)
    except ValueError as error:
        raise PydanticCustomError("duration-syntax", "{reason}", {"reason": str(error), "hint": _hint(value)}) from None


def _hint(value: object) -> str:
    """Return how to write what was probably meant, such as ``10 minutes``, where that is a duration."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)", str(value).strip().lower()[:LENGTH])
    unit = next((unit for unit, words in _UNITS.items() if found and found[2] in words), None)
    meant = f"{found[1]}{unit}" if found and unit else ""
    with suppress(ValueError):
        parse_duration(meant)
        return f"write `{meant}`"
    like = "write it like `30s` or `5m`"
    return f"leave it out, or {like}" if re.match(r"0(\.0*)?(?![0-9.])", str(value).strip()) else like


Duration = Annotated[
    float,
    PlainValidator(_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
                {"type": "string", "pattern": DURATION_PATTERN, "maxLength": LENGTH},
            ],
            "examples": ["30s", "5m", "1h30m", 90],
        }
    ),
]
"""A positive time span, in seconds once read."""

__all__ = ["DURATION_PATTERN", "LONGEST", "Duration", "duration_text", "parse_duration"]
