"""The filters of the Jinja form that are given a test or a filter by name: ``select``, ``selectattr``, ``map``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.template.arguments import Function, items_of
from gert_core.template.data import measure, truth
from gert_core.template.errors import TemplateError, UndefinedVariable
from gert_core.template.lists import ABSENT, at, choose, chosen, look_up, path_to, rows

if TYPE_CHECKING:
    from collections.abc import Callable

CHOICES: Final = frozenset({"select", "reject", "selectattr", "rejectattr"})
_MAX_WORK: Final = 20_000_000
"""Items times the size of an argument that is compared with each of them."""


def select_items(name: str, test: Function | None) -> Function:
    """Return ``select`` or ``reject`` with a test; without one, the truth of the items counts."""
    keep = name == "select"

    def apply(value: object, *args: object) -> list[object]:
        items = items_of(value, name)
        _limit(items, args)
        return [item for item in items if _passes(test, item, args) is keep]

    return _function(name, apply, test)


def select_by_field(name: str, test: Function | None) -> Function:
    """Return ``selectattr`` or ``rejectattr`` with a test of a field."""
    keep = name == "selectattr"

    def apply(value: object, field: object, *args: object) -> list[object]:
        items = rows(value, name)
        _limit(items, args)
        found = choose(items, path_to(field, name), test=lambda part: _passes(test, part, args))
        if not keep:
            out = frozenset(found)
            found = [place for place in range(len(items)) if place not in out]
        return chosen(items, found)

    return _function(name, apply, test)


def select_with_field(name: str, *, present: bool) -> Function:
    """Return ``selectattr`` or ``rejectattr`` with the test ``defined`` or ``undefined``."""
    keep = present is (name == "selectattr")

    def apply(value: object, field: object) -> list[object]:
        items = rows(value, name)
        path = path_to(field, name)
        return chosen(items, [place for place in range(len(items)) if _has(items, place, path) is keep])

    return _function(name, apply, None)


def apply_to_each(function: Function) -> Function:
    """Return ``map`` with a filter that is called with every item."""

    def apply(value: object, *args: object) -> list[object]:
        items = items_of(value, "map")
        _limit(items, args)
        out: list[object] = []
        size = 0
        for item in items:
            out.append(function.call(item, *args))
            size = measure(out[-1], size)
        return out

    return Function("map", apply, 1, None, "list", cost=10 + function.cost)


def fields_of(value: object, attribute: object, *default: object) -> list[object]:
    """Return a field of every item, as ``map(attribute=...)`` does; the default, or null, for items without it."""
    items = rows(value, "map")
    path = path_to(attribute, "map")
    if default:
        return [at(items, n, path) if _has(items, n, path) else default[0] for n in range(len(items))]
    return [None if found is ABSENT else found for found in look_up(items, path)]


def _passes(test: Function | None, value: object, args: tuple[object, ...]) -> bool:
    return truth(value) if test is None else truth(test.call(value, *args))


def _has(items: list[object] | tuple[object, ...], place: int, path: tuple[str, ...]) -> bool:
    try:
        at(items, place, path)
    except UndefinedVariable:
        return False
    return True


def _limit(items: list[object] | tuple[object, ...], args: tuple[object, ...]) -> None:
    size = max((len(arg) for arg in args if isinstance(arg, (str, list, tuple, dict))), default=0)
    if len(items) * size > _MAX_WORK:
        raise TemplateError("the list and what it is compared with are too large", hint="do this in a tool")


def _function(name: str, apply: Callable[..., object], test: Function | None) -> Function:
    return Function(name, apply, 1, None, "list", cost=10 + (test.cost if test else 1))


__all__ = ["CHOICES", "apply_to_each", "fields_of", "select_by_field", "select_items", "select_with_field"]
