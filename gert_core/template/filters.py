"""The filters and tests of the Jinja form, a closed list; the filtered value is the first argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.template.arguments import MAX_ITEMS, Function, capped, items_of, text_of, whole_of
from gert_core.template.arithmetic import bounded
from gert_core.template.choices import fields_of
from gert_core.template.data import MAX_RESULT, ListResults, order, too_large
from gert_core.template.errors import TemplateError
from gert_core.template.functions import FUNCTIONS, subject_is_first
from gert_core.template.lists import at, extreme, pairs, path_to, rows, sort_by, total, unique_by
from gert_core.template.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WIDEST: Final = 10_000


class Filter(Struct, frozen=True):
    """A filter: its function and the names of the arguments after the value, for keyword arguments."""

    function: Function
    names: tuple[str, ...] = ()


def _field(value: object, attribute: object, name: str) -> tuple[Sequence[object], Sequence[object]]:
    """Return the items of a list and what stands for each of them: itself, or one of its fields."""
    if attribute is None:
        items = items_of(value, name)
        return items, items
    found = rows(value, name)
    path = path_to(attribute, name)
    return found, [at(found, place, path) for place in range(len(found))]


def _sort(value: object, reverse: object = False, attribute: object = None) -> list[Any]:
    items, keys = _field(value, attribute, "sort")
    return sort_by(items, keys, reverse=bool(reverse))


def _unique(value: object, attribute: object = None) -> list[object]:
    return unique_by(*_field(value, attribute, "unique"))


def _sum(value: object, attribute: object = None) -> object:
    return total(_field(value, attribute, "sum")[1])


def _extreme(name: str, sign: int) -> Callable[..., object]:
    def apply(value: object, attribute: object = None) -> object:
        return extreme(*_field(value, attribute, name), name=name, sign=sign)

    return apply


def _abs(value: object) -> object:
    return OPERATORS["neg"].call(value) if order(value, 0) < 0 else OPERATORS["pos"].call(value)


def _round(value: object, precision: object = 0) -> object:
    if isinstance(precision, bool) or not isinstance(precision, int) or not -20 <= precision <= 20:
        raise TemplateError("`round` takes an integer number of digits up to 20")
    number: Any = OPERATORS["pos"].call(value)
    try:
        return bounded(float(round(number, precision)))
    except OverflowError:
        raise TemplateError("the number is too large for `round`") from None


def _reverse(value: object) -> object:
    return value[::-1] if isinstance(value, str) else items_of(value, "reverse")[::-1]


def _list(value: object) -> list[object]:
    items = items_of(list(value[: MAX_ITEMS + 1]) if isinstance(value, str) else value, "list")
    return ListResults(items, value.facts) if type(value) is ListResults else items


def _width(value: object, name: str) -> int:
    width = whole_of(value, name)
    if width > _WIDEST:
        raise TemplateError(f"`{name}` takes widths up to {_WIDEST:,}")
    return max(width, 0)


def _center(value: object, width: object = 80) -> str:
    return capped(text_of(value, "center").center(_width(width, "center")))


def _indent(value: object, width: object = 4, first: object = False) -> str:
    text = text_of(value, "indent")
    margin = " " * _width(width, "indent")
    if len(text) + (text.count("\n") + 1) * len(margin) > MAX_RESULT:
        raise too_large()
    lines = [margin + line if line and (number or first) else line for number, line in enumerate(text.split("\n"))]
    return "\n".join(lines)


def _truncate(value: object, length: object = 255) -> str:
    text, longest = text_of(value, "truncate"), _width(length, "truncate")
    return text if len(text) <= longest else text[: max(longest - 3, 0)] + "..."


def _subject_first(name: str) -> Callable[..., object]:
    call = FUNCTIONS[name].call
    if subject_is_first(name):
        return call

    def apply(subject: object, *args: object) -> object:
        return call(*args, subject)

    return apply


def _or_default(name: str) -> Callable[..., object]:
    call = FUNCTIONS[name].call

    def apply(subject: object, *default: object) -> object:
        try:
            return call(subject)
        except TemplateError:
            if default:
                return default[0]
            raise

    return apply


def _joined(subject: object, separator: object = "", attribute: object = None) -> object:
    items = subject if attribute is None else fields_of(subject, attribute)
    return FUNCTIONS["join"].call(separator, items)


_OWN: Final = (
    Filter(Function("abs", _abs, 1, 1, "number")),
    Filter(Function("capitalize", lambda v: capped(text_of(v, "capitalize").capitalize()), 1, 1, "string")),
    Filter(Function("center", _center, 1, 2, "string"), ("width",)),
    Filter(Function("count", FUNCTIONS["len"].call, 1, 1, "int")),
    Filter(Function("float", _or_default("float"), 1, 2, "float"), ("default",)),
    Filter(Function("indent", _indent, 1, 3, "string"), ("width", "first")),
    Filter(Function("int", _or_default("int"), 1, 2, "int"), ("default",)),
    Filter(Function("join", _joined, 1, 3, "string"), ("d", "attribute")),
    Filter(Function("items", pairs, 1, 1, "list", cost=10)),
    Filter(Function("length", FUNCTIONS["len"].call, 1, 1, "int")),
    Filter(Function("list", _list, 1, 1, "list", cost=10)),
    Filter(Function("map", fields_of, 2, 3, "list", cost=10), ("attribute", "default")),
    Filter(Function("max", _extreme("max", 1), 1, 2, "any", cost=5), ("attribute",)),
    Filter(Function("min", _extreme("min", -1), 1, 2, "any", cost=5), ("attribute",)),
    Filter(Function("reverse", _reverse, 1, 1, "any", cost=5)),
    Filter(Function("round", _round, 1, 2, "float"), ("precision",)),
    Filter(Function("sort", _sort, 1, 3, "list", cost=20), ("reverse", "attribute")),
    Filter(Function("sum", _sum, 1, 2, "any", cost=5), ("attribute",)),
    Filter(Function("title", lambda v: capped(text_of(v, "title").title()), 1, 1, "string")),
    Filter(Function("tojson", FUNCTIONS["toJson"].call, 1, 1, "string", cost=10)),
    Filter(Function("truncate", _truncate, 1, 2, "string"), ("length",)),
    Filter(Function("unique", _unique, 1, 2, "list", cost=20), ("attribute",)),
)
_NAMES: Final = {"replace": ("old", "new")}


def _filter_of(function: Function) -> Filter:
    call = _subject_first(function.name)
    return Filter(
        Function(function.name, call, function.least, function.most, function.returns, cost=function.cost),
        _NAMES.get(function.name, ()),
    )


FILTERS: Final[dict[str, Filter]] = {name: _filter_of(function) for name, function in FUNCTIONS.items()} | {
    filter_.function.name: filter_ for filter_ in _OWN
}
"""Every filter; the kernel form's functions are filters too, with the value as their last argument."""


def _is(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


_TESTS: Final = (
    Function("none", lambda value: value is None, 1, 1, "bool"),
    Function("string", _is(str), 1, 1, "bool"),
    Function("number", _is(int, float), 1, 1, "bool"),
    Function("integer", _is(int), 1, 1, "bool"),
    Function("float", _is(float), 1, 1, "bool"),
    Function("boolean", _is(bool), 1, 1, "bool"),
    Function("mapping", _is(dict), 1, 1, "bool"),
    Function("sequence", _is(list, tuple, str), 1, 1, "bool"),
    Function("true", lambda value: value is True, 1, 1, "bool"),
    Function("false", lambda value: value is False, 1, 1, "bool"),
    Function("even", lambda value: OPERATORS["%"].call(value, 2) == 0, 1, 1, "bool"),
    Function("odd", lambda value: OPERATORS["%"].call(value, 2) == 1, 1, 1, "bool"),
    Function("in", OPERATORS["in"].call, 2, 2, "bool"),
    Function("eq", FUNCTIONS["eq"].call, 2, 2, "bool"),
    Function("ne", FUNCTIONS["ne"].call, 2, 2, "bool"),
    Function("lt", FUNCTIONS["lt"].call, 2, 2, "bool"),
    Function("le", FUNCTIONS["le"].call, 2, 2, "bool"),
    Function("gt", FUNCTIONS["gt"].call, 2, 2, "bool"),
    Function("ge", FUNCTIONS["ge"].call, 2, 2, "bool"),
    Function("matches", lambda value, pattern: FUNCTIONS["matches"].call(pattern, value), 2, 2, "bool", cost=10),
    Function("contains", lambda value, part: FUNCTIONS["contains"].call(part, value), 2, 2, "bool"),
)
TESTS: Final = {test.name: test for test in _TESTS}

__all__ = ["FILTERS", "TESTS", "Filter"]
