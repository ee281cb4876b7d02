"""What functions of templates are made of: the record of one, and checks of its arguments and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.results import Undecided
from gert_core.template.data import MAX_RESULT, Symbol, kind_of, to_text, too_large
from gert_core.template.errors import TemplateError, UndefinedVariable

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ITEMS: Final = 50_000
"""The longest list that a function takes or makes."""


class Function(Struct, frozen=True):
    """A callable of the closed table: how many arguments it takes and what type it returns.

    ``cost`` counts towards the limit of one expression (``MAX_COST``), so that a short text cannot use up the
    processor or the memory.
    """

    name: str
    call: Callable[..., Any]
    least: int
    most: int | None
    returns: str
    cost: int = 1


def capped(text: str) -> str:
    """Return the text; raise when it is larger than a result may be."""
    if len(text) > MAX_RESULT:
        raise too_large()
    return text


def text_of(value: object, name: str) -> str:
    """Return an argument that must be a scalar, as text."""
    if isinstance(value, (dict, list, tuple)):
        raise TemplateError(f"`{name}` needs a string, not {kind_of(value)}")
    return to_text(value)


def list_of(value: object, name: str) -> list[object] | tuple[object, ...]:
    """Return an argument that must be a list."""
    if not isinstance(value, (list, tuple)):
        raise TemplateError(f"`{name}` needs a list, not {kind_of(value)}")
    return value


def items_of(value: object, name: str) -> list[object]:
    """Return the items of an argument that must be a list, or the keys of a map, at most ``MAX_ITEMS``."""
    items = list(value) if isinstance(value, dict) else list_of(value, name)
    if len(items) > MAX_ITEMS:
        raise TemplateError(f"`{name}` takes lists of up to {MAX_ITEMS:,} items")
    for item in items:
        if type(item) is Symbol:
            raise Undecided(str(item))
    return list(items)


def whole_of(value: object, name: str) -> int:
    """Return an argument that must be an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TemplateError(f"`{name}` needs an integer, not {kind_of(value)}")
    return value


def nothing_in(name: str) -> UndefinedVariable:
    """Return the error for a function that finds nothing in an empty value."""
    error = UndefinedVariable((name,))
    error.message = f"`{name}` of an empty value is not defined"
    error.hint = "give it a default: `| default ...`"
    return error


__all__ = ["MAX_ITEMS", "Function", "capped", "items_of", "list_of", "nothing_in", "text_of", "whole_of"]
