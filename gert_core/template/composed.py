"""Limit values that are composed of several rendered ones: data shared in memory is written as often as it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.template.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    Value = TypeVar("Value", dict[str, object], list[object])

MAX_COMPOSED: Final = 10 * 1024 * 1024
_LONG: Final = 64 * 1024
"""The characters of text that count as data."""
_DEEPEST: Final = 200


def composed(value: Value) -> Value:
    """Return a value; raise ``TemplateError`` when it is larger than 10 MiB because parts of it are used repeatedly.

    One part alone is as large as it was where it came from, so that most values are not measured at all.
    """
    if _large(value.values() if isinstance(value, dict) else value) > 1:
        _measure(value)
    return value


def limit(rendered: int, constant: Iterable[object]) -> Callable[[Value], Value]:
    """Return ``composed``, or for values that it never has to measure a function that does nothing.

    They have one rendered part, and constants beside it that do not count as data.
    """
    return composed if rendered + _large(constant) > 1 else _as_it_is


def _as_it_is(value: Value) -> Value:
    return value


def _large(parts: Iterable[object]) -> int:
    """Return how many of some parts count as data: lists, maps and, together, so many characters of text."""
    found = characters = 0
    for one in parts:
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, (dict, list)):
            found += 1
    return found + characters // _LONG


def _measure(value: object) -> None:
    """Raise when a value is larger than the limit as it is written; what it shares is counted each time."""
    size, stack = 0, [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > _DEEPEST:
            raise TemplateError(f"the value is nested deeper than {_DEEPEST} levels")
        parts: Iterable[object] = ()
        if isinstance(item, dict):
            size += sum(map(len, item)) + 4 * len(item)
            parts = item.values()
        elif isinstance(item, (list, tuple)):
            size += 4 * len(item)
            parts = item
        for one in parts:
            if isinstance(one, str):
                size += len(one)
            elif isinstance(one, (dict, list, tuple)):
                stack.append((one, depth + 1))
        if size > MAX_COMPOSED:
            raise TemplateError(
                "the value is larger than 10 MiB", hint="name what is needed of it, or let a tool read it from a file"
            )


__all__ = ["MAX_COMPOSED", "composed", "limit"]
