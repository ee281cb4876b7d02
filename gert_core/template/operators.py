"""The operators of the Jinja form, each with a bounded result."""

from __future__ import annotations

from typing import Any, Final

from gert_core.template.arguments import MAX_ITEMS, Function
from gert_core.template.arithmetic import MAX_BITS, arithmetic, numbers, plus
from gert_core.template.data import MAX_RESULT, kind_of, to_text, too_large
from gert_core.template.errors import TemplateError
from gert_core.template.functions import FUNCTIONS


def _add(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_RESULT:
            raise too_large()
        return left + right
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if len(left) + len(right) > MAX_ITEMS:
            raise too_large()
        return [*left, *right]
    return plus(left, right)


def _times(left: object, right: object) -> object:
    for text, count in ((left, right), (right, left)):
        if isinstance(text, str) and isinstance(count, int) and not isinstance(count, bool):
            if len(text) * max(count, 0) > MAX_RESULT:
                raise too_large()
            return text * count
    return _multiply(left, right)


def _power(left: object, right: object) -> object:
    numbers("**", left, right)
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > MAX_BITS:
        raise TemplateError("the number is too large")
    return _raise(left, right)


def _concat(*parts: object) -> str:
    out = []
    size = 0
    for part in parts:
        text = to_text(part)
        size += len(text)
        if size > MAX_RESULT:
            raise too_large()
        out.append(text)
    return "".join(out)


def _slice(subject: Any, start: Any, stop: Any, step: Any) -> object:
    if not isinstance(subject, (str, list, tuple)):
        raise TemplateError(f"only a string or a list can be sliced, not {kind_of(subject)}")
    for bound in (start, stop, step):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise TemplateError(f"slice bounds must be integers, not {kind_of(bound)}")
    if step == 0:
        raise TemplateError("the slice step cannot be 0")
    part = subject[start:stop:step]
    return list(part) if isinstance(part, tuple) else part


def _in(needle: object, subject: object) -> object:
    return FUNCTIONS["contains"].call(needle, subject)


_multiply: Final = arithmetic("*", lambda a, b: a * b)
_raise: Final = arithmetic("**", lambda a, b: a**b)

_TABLE: Final = (
    Function("+", _add, 2, 2, "sum"),
    Function("-", arithmetic("-", lambda a, b: a - b), 2, 2, "number"),
    Function("*", _times, 2, 2, "number"),
    Function("/", arithmetic("/", lambda a, b: a / b), 2, 2, "float"),
    Function("//", arithmetic("//", lambda a, b: a // b), 2, 2, "number"),
    Function("%", arithmetic("%", lambda a, b: a % b), 2, 2, "number"),
    Function("**", _power, 2, 2, "any"),
    Function("neg", lambda value: _multiply(value, -1), 1, 1, "number"),
    Function("pos", lambda value: _multiply(value, 1), 1, 1, "number"),
    Function("~", _concat, 1, None, "string"),
    Function("slice", _slice, 4, 4, "any", cost=10),
    Function("in", _in, 2, 2, "bool"),
    Function("not in", lambda needle, subject: not _in(needle, subject), 2, 2, "bool"),
)
OPERATORS: Final = {operator.name: operator for operator in _TABLE}

__all__ = ["OPERATORS"]
