"""The limits that an input declares for its values, and contradictions in the declaration itself."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.documents.runbook import InputModel
    from gert_core.documents.tree import Runbook

_TYPES: Final = {
    "enum": ("string", "int", "float", "list", "any"),
    "pattern": ("string",),
    "min": ("int", "float", "string", "list"),
    "max": ("int", "float", "string", "list"),
}
"""The types of inputs that each limit makes sense for."""
_SHOWN: Final = 12


def has_limits(model: InputModel) -> bool:
    """Return whether an input declares any limit."""
    return not (model.enum is None and model.pattern is None and model.min is None and model.max is None)


def check_limits(model: InputModel, value: object) -> None:
    """Raise ``ValueError`` with a message when a value of the input's type is outside of its limits.

    Of a secret input, neither the value nor the limits stand in the message.
    """
    if model.enum is not None:
        with _unshown(model, "the value is not one of those that it may have"):
            _check_enum(model.enum, value)
    if model.pattern is not None:
        with _unshown(model, "the value does not match its pattern"):
            _check_pattern(model.pattern, value)
    with _unshown(model, "the value is outside of its limits"):
        _check_size(model, value)


def choices(model: InputModel) -> str:
    """Return the values that an input may have, for people; nothing when they are not listed, or secret."""
    if model.secret:
        return ""
    words = [_text(value) for value in model.enum or ()]
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def bounds(model: InputModel) -> str:
    """Return the limits of an input for people, such as ``one of: a, b`` or ``from 1 to 5``; nothing without any.

    Those of a secret input tell of its value, and are not shown.
    """
    if model.secret:
        return ""
    found = [f"one of: {choices(model)}"] if model.enum else []
    if model.pattern is not None:
        found.append(f"matching {model.pattern}")
    length = "of length " if model.type in ("string", "list") else ""
    if model.min is not None and model.max is not None:
        found.append(f"{length}from {model.min:g} to {model.max:g}")
    elif model.min is not None or model.max is not None:
        found.append(f"{length}at least {model.min:g}" if model.min is not None else f"{length}at most {model.max:g}")
    return ", ".join(found)


def declared_at(runbook: Runbook, name: str) -> str:
    """Return file and line of the declaration of an input."""
    document = runbook.document
    return f"{document.file}:{document.locate(('meta', 'inputs', name), key=True)[0]}"


def contradictions(model: InputModel) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield what is wrong with a declaration: the path of the field in it, the message and the hint.

    The bounds of a secret input tell of its value, and stand in neither.
    """
    wrong = False
    for name, types in _TYPES.items():
        if getattr(model, name) is not None and model.type not in types:
            wrong = True
            known = ", ".join(f"`{one}`" for one in types)
            yield (name,), f"`{name}` has no meaning for an input of type {model.type}", f"it is for {known}"
    if wrong:
        return
    counts = model.type in ("string", "list")
    for name in ("min", "max"):
        bound = getattr(model, name)
        if bound is not None and (counts or model.type == "int") and not float(bound).is_integer():
            wrong = True
            hint = "write an integer" if model.secret else f"write `{name}: {int(bound)}`"
            yield (name,), f"`{name}` of an input of type {model.type} is an integer", hint
        elif bound is not None and counts and bound < 0:
            wrong = True
            yield (name,), f"`{name}` is a length, which is never negative", f"write `{name}: 0`, or leave it out"
    if model.min is not None and model.max is not None and model.min > model.max:
        low, high = ("", "") if model.secret else (f" ({model.min:g})", f" ({model.max:g})")
        yield ("min",), f"`min`{low} is more than `max`{high}", "exchange the two"
        return
    if not wrong:
        yield from _contradicting_values(model)


def _contradicting_values(model: InputModel) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    rest = model.model_copy(update={"enum": None})
    for index, value in enumerate(model.enum or ()):
        if isinstance(value, (list, dict)) or value is None:
            yield ("enum", index), "a value of `enum` is a text, a number or a boolean", "write a simple value"
        elif model.type != "list":
            try:
                check_limits(rest, value)
            except ValueError as error:
                yield ("enum", index), f"the value can never be given: {error}", "change it, or the other limits"


@contextmanager
def _unshown(model: InputModel, told: str) -> Iterator[None]:
    """Raise what is ``told`` in place of a message with the value of a secret input."""
    try:
        yield
    except ValueError as error:
        raise ValueError(told if model.secret else str(error)) from None


def _check_size(model: InputModel, value: object) -> None:
    size, what = _size(value)
    if size is None:
        return
    if model.min is not None and size < model.min:
        raise ValueError(f"{what} is less than {model.min:g}, the minimum")
    if model.max is not None and size > model.max:
        raise ValueError(f"{what} is more than {model.max:g}, the maximum")


def _check_enum(enum: list[object], value: object) -> None:
    from gert_core.template import equal

    for item in value if isinstance(value, list) else [value]:
        if not any(equal(item, one) for one in enum):
            known = ", ".join(_text(one) for one in enum[:_SHOWN])
            raise ValueError(f"{_text(item)!r} is not one of: {known}{', ...' if len(enum) > _SHOWN else ''}")


def _check_pattern(pattern: str, value: object) -> None:
    from gert_core.template import TemplateError, matches_whole

    try:
        if not matches_whole(pattern, str(value)):
            raise ValueError(f"{_short(str(value))!r} does not match the whole of /{pattern}/")
    except TemplateError as error:
        raise ValueError(error.message) from None


def _size(value: object) -> tuple[float | None, str]:
    if isinstance(value, bool):
        return None, ""
    if isinstance(value, (int, float)):
        return value, _text(value)
    if isinstance(value, str):
        return len(value), f"the length of {_short(value)!r}, {len(value)},"
    if isinstance(value, list):
        return len(value), f"the number of items, {len(value)},"
    return None, ""


def _text(value: object) -> str:
    from gert_core.template import shown

    return _short(shown(value))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


__all__ = ["bounds", "check_limits", "choices", "contradictions", "declared_at", "has_limits"]
