"""The functions of lists and maps, common to both syntaxes; a field may also be a fact about an item of a loop."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final

from gert_core.template.arguments import MAX_ITEMS, Function, items_of, list_of, nothing_in, text_of, whole_of
from gert_core.template.arithmetic import plus
from gert_core.template.data import ListResults, MapResults, equal, kind_of, measure, order, to_json, walk
from gert_core.template.errors import TemplateError, UndefinedVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ABSENT: Final = object()
"""Stands for a field that an item has not got."""


def rows(value: object, name: str) -> list[object] | tuple[object, ...]:
    """Return what has fields to look up, as a list: its items, or the values of a map, with the facts about them."""
    if isinstance(value, dict):
        facts = [value.facts[key] for key in value] if type(value) is MapResults else None
        value = list(value.values()) if facts is None else ListResults(value.values(), facts)
    items = list_of(value, name)
    if len(items) > MAX_ITEMS:
        raise TemplateError(f"`{name}` takes lists of up to {MAX_ITEMS:,} items")
    return items


def path_to(field: object, name: str) -> tuple[str, ...]:
    """Return the path of a field: ``failure.kind`` is a field of a field."""
    path = tuple(text_of(field, name).split("."))
    if not all(path):
        raise TemplateError(f'`{name}` needs the name of a field, such as "status"')
    return path


def at(items: Sequence[object], place: int, path: tuple[str, ...]) -> object:
    """Return a field of an item; raise ``UndefinedVariable`` when it has none."""
    return walk(items, (str(place), *path), full=path)


def chosen(items: Sequence[object], places: Sequence[int]) -> list[object]:
    """Return some items in a new list, with the facts about them."""
    found = [items[place] for place in places]
    if type(items) is not ListResults:
        return found
    facts: Sequence[Mapping[str, object]] = items.facts
    return ListResults(found, [facts[place] for place in places])


def look_up(items: Sequence[object], path: tuple[str, ...]) -> list[object]:
    """Return a field of every item; the marker ``ABSENT`` for those without it.

    A field that none of the items has is more likely misspelled than absent: that raises ``UndefinedVariable``, unless
    they are results of a loop that did not succeed, or nothing is there that could have fields.
    """
    found: list[object] = []
    misspelled: UndefinedVariable | None = None
    facts: Sequence[Mapping[str, object]] | None = items.facts if type(items) is ListResults else None
    known = 0
    for place in range(len(items)):
        try:
            found.append(at(items, place, path))
        except UndefinedVariable as error:
            found.append(ABSENT)
            if not error.of_null and (facts is None or facts[place].get("status") == "success"):
                misspelled = misspelled or error
        else:
            known += 1
    if misspelled is not None and not known:
        near = misspelled.suggestion(misspelled.known)
        misspelled.message = f"no item of the list of {len(items)} has the field `{'.'.join(path)}`"
        ask = 'ask for it first, `selectattr("field", "defined")`, or give it a default: `| default ...`'
        misspelled.hint = f"did you mean `{near[1:]}`?" if near else ask
        raise misspelled
    return found


def choose(items: Sequence[object], path: tuple[str, ...], *, test: Callable[[object], bool]) -> list[int]:
    """Return the places of the items whose field passes a test; an item without the field does not."""
    return [place for place, value in enumerate(look_up(items, path)) if value is not ABSENT and test(value)]


def sort_by(items: Sequence[object], keys: Sequence[object], *, reverse: bool = False) -> list[Any]:
    """Return the items in the order of their keys, equal ones in the order they had."""

    def compare(one: int, two: int) -> int:
        return order(keys[one], keys[two])

    return [items[place] for place in sorted(range(len(items)), key=cmp_to_key(compare), reverse=reverse)]


def unique_by(items: Sequence[object], keys: Sequence[object]) -> list[object]:
    """Return the items with a different key each, the first of equal ones."""
    seen: dict[str, object] = {}
    for item, key in zip(items, keys, strict=True):
        seen.setdefault(to_json(key), item)
    return list(seen.values())


def total(values: Sequence[object]) -> object:
    """Return the sum of numbers."""
    found: object = 0
    for value in values:
        found = plus(found, value)
    return found


def end_of(name: str, position: int) -> Callable[[object], object]:
    """Return the function that takes the first or last item of a list, or character of a text."""

    def apply(value: object) -> object:
        found: Any = value if isinstance(value, str) else list_of(value, name)
        if not found:
            raise nothing_in(name)
        return walk(found, (str(position),), full=(name,)) if not isinstance(found, str) else found[position]

    return apply


def extreme(items: Sequence[object], keys: Sequence[object], *, name: str, sign: int) -> object:
    """Return the item with the smallest (``sign`` -1) or greatest (1) key, the first of equal ones."""
    if not items:
        raise nothing_in(name)
    best = 0
    for place in range(1, len(items)):
        if order(keys[place], keys[best]) == sign:
            best = place
    return items[best]


def _where(subject: object, field: object, value: object) -> list[object]:
    items = rows(subject, "where")
    return chosen(items, choose(items, path_to(field, "where"), test=lambda found: equal(found, value)))


def _pluck(subject: object, field: object) -> list[object]:
    items = rows(subject, "pluck")
    path = path_to(field, "pluck")
    return [None if value is ABSENT else value for value in look_up(items, path)]


def _keys(subject: object) -> list[object]:
    return items_of(_map_of(subject, "keys"), "keys")


def _values(subject: object) -> list[object]:
    found = rows(_map_of(subject, "values"), "values")
    return found if isinstance(found, list) else list(found)


def _map_of(subject: object, name: str) -> dict[str, object]:
    if not isinstance(subject, dict):
        raise TemplateError(f"`{name}` needs a map, not {kind_of(subject)}")
    return subject


def _range(first: object, *rest: object) -> list[int]:
    if isinstance(first, (list, tuple, dict)):
        hint = "templates are expressions only: a step with `for_each` runs for every item of a list"
        raise TemplateError(f"`range` needs integers, not {kind_of(first)}", hint=hint)
    bounds = [whole_of(value, "range") for value in (first, *rest)]
    if len(bounds) == 3 and bounds[2] == 0:
        raise TemplateError("the step of `range` cannot be 0")
    numbers = range(*bounds)
    if max(map(abs, bounds)) > 2**53 or len(numbers) > MAX_ITEMS:
        raise TemplateError(f"`range` gives at most {MAX_ITEMS:,} numbers")
    return list(numbers)


def _extreme(name: str, sign: int) -> Callable[..., object]:
    def apply(first: object, *rest: object) -> object:
        items = items_of([first, *rest] if rest else first, name)
        return extreme(items, items, name=name, sign=sign)

    return apply


def _sort(subject: object) -> list[object]:
    items = items_of(subject, "sort")
    return sort_by(items, items)


def _uniq(subject: object) -> list[object]:
    items = items_of(subject, "uniq")
    return unique_by(items, items)


def pairs(subject: object) -> list[object]:
    """Return the pairs of key and value of a map."""
    found: list[object] = [[key, value] for key, value in _map_of(subject, "items").items()]
    measure(found)
    return found


LISTS: Final = (
    Function("where", _where, 3, 3, "list", cost=10),
    Function("pluck", _pluck, 2, 2, "list", cost=10),
    Function("keys", _keys, 1, 1, "list", cost=10),
    Function("values", _values, 1, 1, "list", cost=10),
    Function("range", _range, 1, 3, "list", cost=10),
    Function("first", end_of("first", 0), 1, 1, "any"),
    Function("last", end_of("last", -1), 1, 1, "any"),
    Function("sum", lambda subject: total(items_of(subject, "sum")), 1, 1, "any", cost=5),
    Function("min", _extreme("min", -1), 1, None, "any", cost=5),
    Function("max", _extreme("max", 1), 1, None, "any", cost=5),
    Function("sort", _sort, 1, 1, "list", cost=20),
    Function("uniq", _uniq, 1, 1, "list", cost=20),
)

__all__ = [
    "ABSENT",
    "LISTS",
    "at",
    "choose",
    "chosen",
    "end_of",
    "extreme",
    "look_up",
    "pairs",
    "path_to",
    "rows",
    "sort_by",
    "total",
    "unique_by",
]
