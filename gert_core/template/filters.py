"""The filters and tests of the Jinja form, a closed list; the filtered value is the first argument."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.template.data import MAX_RESULT, kind_of, order, to_json, too_large, walk
from gert_core.template.errors import TemplateError, UndefinedVariable
from gert_core.template.functions import FUNCTIONS, Function, capped, list_of, text_of
from gert_core.template.operators import OPERATORS, bounded

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_ITEMS: Final = 50_000
_WIDEST: Final = 10_000


class Filter(Struct, frozen=True):
    """A filter: its function and the names of the arguments after the value, for keyword arguments."""

    function: Function
    names: tuple[str, ...] = ()


def _items(value: object, name: str) -> list[object]:
    if isinstance(value, dict):
        value = list(value)
    items = list_of(value, name)
    if len(items) > _MAX_ITEMS:
        raise TemplateError(f"`{name}` takes lists of up to {_MAX_ITEMS:,} items")
    return list(items)


def _attribute(item: object, attribute: object) -> object:
    if attribute is None:
        return item
    path = tuple(text_of(attribute, "attribute").split("."))
    return walk(item, path, full=path)


def _ends(name: str, position: int) -> Callable[[object], object]:
    def run(value: object) -> object:
        found: Any = value if isinstance(value, str) else list_of(value, name)
        if not found:
            error = UndefinedVariable((name,))
            error.message = f"`{name}` of an empty value is not defined"
            error.hint = "give it a default: `| default ...`"
            raise error
        return found[position]

    return run


def _sort(value: object, reverse: object = False, attribute: object = None) -> list[Any]:
    items = _items(value, "sort")
    keys = [_attribute(item, attribute) for item in items]

    def compare(one: int, two: int) -> int:
        return order(keys[one], keys[two])

    places = sorted(range(len(items)), key=cmp_to_key(compare), reverse=bool(reverse))
    return [items[place] for place in places]


def _unique(value: object) -> list[object]:
    seen: dict[str, object] = {}
    for item in _items(value, "unique"):
        seen.setdefault(to_json(item), item)
    return list(seen.values())


def _sum(value: object, attribute: object = None) -> object:
    total: object = 0
    for item in _items(value, "sum"):
        total = OPERATORS["+"].call(total, _attribute(item, attribute))
    return total


def _extreme(name: str, sign: int) -> Callable[[object], object]:
    def run(value: object) -> object:
        items = _items(value, name)
        if not items:
            raise TemplateError(f"`{name}` needs a list that is not empty")
        best = items[0]
        for item in items[1:]:
            if order(item, best) == sign:
                best = item
        return best

    return run


def _abs(value: object) -> object:
    return OPERATORS["neg"].call(value) if order(value, 0) < 0 else OPERATORS["pos"].call(value)


def _round(value: object, precision: object = 0) -> object:
    if isinstance(precision, bool) or not isinstance(precision, int) or not -20 <= precision <= 20:
        raise TemplateError("`round` takes an integer number of digits up to 20")
    return bounded(float(round(OPERATORS["pos"].call(value), precision)))


def _reverse(value: object) -> object:
    return value[::-1] if isinstance(value, str) else _items(value, "reverse")[::-1]


def _list(value: object) -> list[object]:
    return _items(list(value[: _MAX_ITEMS + 1]) if isinstance(value, str) else value, "list")


def _map(value: object, attribute: object) -> list[object]:
    return [_attribute(item, attribute) for item in _items(value, "map")]


def _width(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TemplateError(f"`{name}` needs an integer, not {kind_of(value)}")
    if value > _WIDEST:
        raise TemplateError(f"`{name}` takes widths up to {_WIDEST:,}")
    return max(value, 0)


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

    def run(subject: object, *args: object) -> object:
        return call(*args, subject)

    return run


def _or_default(name: str) -> Callable[..., object]:
    call = FUNCTIONS[name].call

    def run(subject: object, *default: object) -> object:
        try:
            return call(subject)
        except TemplateError:
            if default:
                return default[0]
            raise

    return run


def _joined(subject: object, separator: object = "", attribute: object = None) -> object:
    items = subject if attribute is None else _map(subject, attribute)
    return FUNCTIONS["join"].call(separator, items)


_OWN: Final = (
    Filter(Function("abs", _abs, 1, 1, "number")),
    Filter(Function("capitalize", lambda v: capped(text_of(v, "capitalize").capitalize()), 1, 1, "string")),
    Filter(Function("center", _center, 1, 2, "string"), ("width",)),
    Filter(Function("count", FUNCTIONS["len"].call, 1, 1, "int")),
    Filter(Function("first", _ends("first", 0), 1, 1, "any")),
    Filter(Function("float", _or_default("float"), 1, 2, "float"), ("default",)),
    Filter(Function("indent", _indent, 1, 3, "string"), ("width", "first")),
    Filter(Function("int", _or_default("int"), 1, 2, "int"), ("default",)),
    Filter(Function("join", _joined, 1, 3, "string"), ("d", "attribute")),
    Filter(Function("last", _ends("last", -1), 1, 1, "any")),
    Filter(Function("length", FUNCTIONS["len"].call, 1, 1, "int")),
    Filter(Function("list", _list, 1, 1, "list", cost=10)),
    Filter(Function("map", _map, 2, 2, "list", cost=10), ("attribute",)),
    Filter(Function("max", _extreme("max", 1), 1, 1, "any", cost=5)),
    Filter(Function("min", _extreme("min", -1), 1, 1, "any", cost=5)),
    Filter(Function("reverse", _reverse, 1, 1, "any", cost=5)),
    Filter(Function("round", _round, 1, 2, "float"), ("precision",)),
    Filter(Function("sort", _sort, 1, 3, "list", cost=20), ("reverse", "attribute")),
    Filter(Function("sum", _sum, 1, 2, "any", cost=5), ("attribute",)),
    Filter(Function("title", lambda v: capped(text_of(v, "title").title()), 1, 1, "string")),
    Filter(Function("tojson", FUNCTIONS["toJson"].call, 1, 1, "string", cost=10)),
    Filter(Function("truncate", _truncate, 1, 2, "string"), ("length",)),
    Filter(Function("unique", _unique, 1, 1, "list", cost=20)),
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
)
TESTS: Final = {test.name: test for test in _TESTS}

__all__ = ["FILTERS", "TESTS", "Filter"]
