"""Compare values in step types as templates do."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.diagnostics import Finding


@cache
def _template_equal() -> Callable[[object, object], bool]:
    """Import the function once: an import statement in ``equal`` would cost more than the comparison."""
    from gert_core.template import equal as found

    return found


def equal(a: object, b: object) -> bool:
    """Return whether two values are equal as with ``eq``: numbers equal numeric strings, booleans their words."""
    return _template_equal()(a, b)


def order(a: object, b: object) -> int:
    """Return a negative number, zero or a positive one; raise ``ValueError`` when they cannot be ordered.

    The order is numeric when both sides are.
    """
    from gert_core.template import TemplateError
    from gert_core.template import order as _order

    try:
        return _order(a, b)
    except TemplateError as error:
        raise ValueError(error.message) from None


def contains(container: object, item: object) -> bool:
    """Return whether text contains text, a list an item, or a map a key."""
    if isinstance(container, list | tuple):
        return any(equal(item, one) for one in container)
    if isinstance(container, dict):
        return str(item) in container
    return str(item) in str(container)


def matches(pattern: str, value: object) -> bool:
    """Return whether RE2 finds the pattern in the text of a value; raise ``ValueError`` for an unsupported pattern."""
    from gert_core.template import TemplateError, to_text
    from gert_core.template import matches as _matches

    try:
        return _matches(pattern, to_text(value)) is not None
    except TemplateError as error:
        raise ValueError(error.message) from None


def check_pattern(pattern: str, *path: str | int) -> Finding | None:
    """Return what is wrong with a pattern, for a step type's ``check``; ``path`` leads to it from the step.

    A pattern that contains a template is checked by ``matches``, when it is known.
    """
    from gert_core.api.diagnostics import Finding
    from gert_core.template import TemplateError
    from gert_core.template import check_pattern as _check_pattern
    from gert_core.template.regex import PATTERN_UNSUPPORTED

    if "{{" in pattern:
        return None
    try:
        _check_pattern(pattern)
    except TemplateError as error:
        rule = PATTERN_UNSUPPORTED if error.rule == PATTERN_UNSUPPORTED else "wrong-type"
        return Finding(rule=rule, message=error.message, path=path, hint=error.hint)
    return None


def truth(value: object) -> bool:
    """Return whether a value counts as true in a condition."""
    from gert_core.template import truth as _truth

    return _truth(value)


__all__ = ["check_pattern", "contains", "equal", "matches", "order", "truth"]
