"""Durations in documents: the field type for step models, and their spelling."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gert_core.kit.time_spans import DURATION_PATTERN, LENGTH, LONGEST, duration_text, parse_duration


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise PydanticCustomError("duration_type", "should be a duration such as 30s")
    try:
        return parse_duration(value)
    except ValueError as error:
        raise PydanticCustomError("duration-syntax", "{reason}", {"reason": str(error)}) from None


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
