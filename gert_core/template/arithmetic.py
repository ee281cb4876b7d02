"""Arithmetic of templates: numbers only, each result finite and bounded."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from gert_core.template.data import kind_of
from gert_core.template.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BITS: Final = 4096


def numbers(sign: str, left: object, right: object) -> None:
    """Raise unless both sides are numbers."""
    for side in (left, right):
        if isinstance(side, bool) or not isinstance(side, (int, float)):
            hint = "convert a string with `| int` or `| float`" if isinstance(side, str) else None
            raise TemplateError(f"`{sign}` needs numbers, not {kind_of(side)}", hint=hint)


def arithmetic(sign: str, apply: Callable[[Any, Any], Any]) -> Callable[[object, object], object]:
    """Return the function of an operator that takes two numbers."""

    def checked(left: object, right: object) -> object:
        numbers(sign, left, right)
        try:
            return bounded(apply(left, right))
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            raise TemplateError(f"`{sign}` failed: {error}") from None

    return checked


def bounded(value: object) -> object:
    """Return a computed number; raise when it is not finite or too large."""
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise TemplateError("the number is too large")
    elif not isinstance(value, float) or not isfinite(value):
        raise TemplateError("the result is not a finite number")
    return value


plus: Final = arithmetic("+", lambda a, b: a + b)

__all__ = ["MAX_BITS", "arithmetic", "bounded", "numbers", "plus"]
