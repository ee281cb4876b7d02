"""Check the constant regular expressions of ``matches`` and ``regexReplace`` in templates before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.template import TemplateError, check_pattern
from gert_core.template.functions import FUNCTIONS
from gert_core.template.tree import Call, Const, children
from gert_core.validation.domain.scalars import expressions

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEARCHING: Final = {name: FUNCTIONS[name] for name in ("matches", "regexReplace")}


def pattern_errors(template: object) -> tuple[TemplateError, ...]:
    """Return what is wrong with the constant patterns of a template or condition, each at its expression."""
    found = []
    for part in expressions(template):
        for pattern in _constants(part.tree):
            try:
                check_pattern(pattern)
            except TemplateError as error:
                error.offset = part.offset
                found.append(error)
    return tuple(found)


def _constants(node: Any) -> Iterator[str]:
    if isinstance(node, Call) and (function := _SEARCHING.get(node.function.name)) is not None:
        # The filter takes its subject first, the function takes it last.
        pattern = node.args[0 if node.function is function else 1]
        if isinstance(pattern, Const) and isinstance(pattern.value, str):
            yield pattern.value
    for child in children(node):
        yield from _constants(child)


__all__ = ["pattern_errors"]
