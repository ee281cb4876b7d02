"""Secrets that are numbers: programs and JSON give them as such, also where they were declared as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MASK: Final = re.compile(r"<REDACTED:([^:<>\s]+):(int|float)>")
_DIGITS: Final = re.compile(r"[1-9][0-9]{0,39}")
"""A text that is a whole number in its only spelling."""


def as_number(value: str | float) -> float | None:
    """Return the number that a secret is or that its text spells, None when it is none."""
    if not isinstance(value, str):
        return value
    return int(value) if _DIGITS.fullmatch(value) else None


def masked_number(text: str, numbers: Mapping[float, str]) -> float | None:
    """Return the number that a typed mask stands for, None when the text is not one."""
    match = _MASK.fullmatch(text)
    label = f"{match[1]}:{match[2]}" if match else None
    return next((value for value, name in numbers.items() if name == label), None)


__all__ = ["as_number", "masked_number"]
