"""Limit values that are composed of several rendered ones: data shared in memory is written as often as it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.template.errors import TemplateError

if TYPE_CHECKING:
    from typing import TypeVar

    Value = TypeVar("Value", dict[str, object], list[object])

MAX_COMPOSED: Final = 10 * 1024 * 1024
_LONG: Final = 64 * 1024
"""The characters of a text that counts as data."""
_DEEPEST: Final = 200


def composed(value: Value) -> Value:
    """Return a value; raise ``TemplateError`` when it is larger than 10 MiB because parts of it are used repeatedly.

    One part alone is as large as it was where it came from, so that most values are not measured at all.
    """
    parts = 0
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, str):
            parts += len(one) > _LONG
        elif isinstance(one, (dict, list)):
            parts += 1
    if parts > 1:
        try:
            _measure(value, {})
        except RecursionError:
            raise _too_deep() from None
    return value


def _measure(value: object, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the size of a value as it is written, and its depth; what it shares is looked at once."""
    if isinstance(value, str):
        return len(value) + 3, 0
    if not isinstance(value, (dict, list, tuple)):
        return 2, 0
    if (found := known.get(id(value))) is not None:
        return found
    size, depth = 3, 0
    if isinstance(value, dict):
        size += sum(map(len, value)) + 4 * len(value)
    for one in value.values() if isinstance(value, dict) else value:
        more, below = _measure(one, known)
        size += more
        depth = max(depth, below)
    if size > MAX_COMPOSED:
        raise TemplateError(
            "the value is larger than 10 MiB", hint="name what is needed of it, or let a tool read it from a file"
        )
    if depth >= _DEEPEST:
        raise _too_deep()
    known[id(value)] = size, depth + 1
    return known[id(value)]


def _too_deep() -> TemplateError:
    return TemplateError(f"the value is nested deeper than {_DEEPEST} levels")


__all__ = ["MAX_COMPOSED", "composed"]
