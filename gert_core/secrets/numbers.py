"""Secrets that are numbers: programs and JSON give them as such, also where they were declared as text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from gert_core.secrets.forms import MINIMUM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MINUS: Final = "minus"
"""What labels say of a number that is a secret with the other sign."""
_MASK: Final = re.compile(rf"<REDACTED:([^:<>\s]+(?::{MINUS})?):(int|float)>")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
"""What programs and templates read as a number: JSON's, and with a plus, zeros in front or an open point."""
_LONGEST: Final = 400
"""The most digits of a number that is looked for, without zeros around it; the largest floats have 309."""


def as_numbers(value: str | float) -> list[float]:
    """Return the numbers that a secret is or that its text spells: the whole one first, then as a float.

    What reads a number takes no notice of blanks around it. A text such as ``1.000`` is none: its number has fewer than
    four characters, and stands for too much else.
    """
    text = str(value).strip()
    if isinstance(value, str) and (_size(text) > _LONGEST or not _NUMBER.fullmatch(text)):
        return []
    from decimal import Decimal

    exact = Decimal(text)
    if not exact.is_finite():
        return []
    found: list[float] = []
    if abs(exact.adjusted()) <= _LONGEST and exact.as_integer_ratio()[1] == 1:
        found.append(int(exact))
    if math.isfinite(number := float(exact)):
        found.append(number)
    return found if found and (not isinstance(value, str) or len(str(found[0])) >= MINIMUM) else []


def _size(text: str) -> int:
    """Return the length of a number without what says nothing: its sign, zeros in front and those of its fraction."""
    digits = text.lower().partition("e")[0]
    return len((digits.rstrip("0") if "." in digits else digits).lstrip("+-0."))


def negated(numbers: Sequence[float]) -> list[float]:
    """Return the numbers with the other sign, which tell as much; short ones stand for too much else."""
    return [-number for number in numbers if number and len(str(-numbers[0])) >= MINIMUM]


def spellings(numbers: Sequence[float]) -> Iterator[tuple[str, str]]:
    """Yield how programs write the numbers, each with the name of its form."""
    for number in numbers:
        yield "whole" if isinstance(number, int) else "number", str(number)
    for number in numbers:
        if isinstance(number, float):
            digits = next(size for size in range(17) if float(f"{number:.{size}e}") == number)
            front, _, power = f"{number:.{digits}e}".partition("e")
            short = str(int(power))
            for form, text in (("short", short), ("plus", f"+{short}"), ("padded", power)):
                yield f"power-{form}", f"{front}e{text}"
                yield f"power-{form}-upper", f"{front}E{text}"


def number_mask(number: float, name: str) -> str:
    """Return the label of a number, which says of which type it was."""
    return f"{name}:{'int' if isinstance(number, int) else 'float'}"


def masked_number(text: str, numbers: Mapping[float, str]) -> float | None:
    """Return the number that a typed mask stands for, None when the text is not one."""
    match = _MASK.fullmatch(text)
    if match is None:
        return None
    wanted = int if match[2] == "int" else float
    known = [number for number, name in numbers.items() if name == match[1]]
    # Of two values of one name the later one is the first here; one entry stands for equal numbers of both types.
    for number in known:
        if isinstance(number, wanted):
            return number
        if math.isfinite(number) and abs(number) < 2**53 and wanted(number) == number:
            return wanted(number)
    return None


__all__ = ["MINUS", "as_numbers", "masked_number", "negated", "number_mask", "spellings"]
