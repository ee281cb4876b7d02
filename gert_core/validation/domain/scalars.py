"""Find the variables that a template uses as single values: compared with one, or passed to a string function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gert_core.template.compile import Condition, Single, TextTemplate
from gert_core.template.tree import Call, Const, Path, children

if TYPE_CHECKING:
    from collections.abc import Iterable

    FoundCall = tuple[int, Call]

_COMPARE: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_TEXT: Final = frozenset({"upper", "lower", "trim", "hasPrefix", "hasSuffix", "matches", "split", "int", "float"})


class ScalarUse(NamedTuple):
    """A variable that must be a single value for ``function``."""

    path: tuple[str, ...]
    function: str
    offset: int


def scalar_uses(calls: Iterable[FoundCall]) -> tuple[ScalarUse, ...]:
    """Return every such use among the calls of a template or condition."""
    found = []
    for offset, call in calls:
        name = call.function.name
        if name in _TEXT or (name in _COMPARE and _has_scalar(call)):
            found += [ScalarUse(arg.segments, name, offset + arg.offset) for arg in call.args if isinstance(arg, Path)]
    return tuple(found)


def calls_of(template: object) -> list[FoundCall]:
    """Return the calls of a template or condition, outer ones first, each with the offset of its expression."""
    found: list[FoundCall] = []
    for part in expressions(template):
        nodes = [part.tree]
        while nodes:
            node = nodes.pop()
            if isinstance(node, Call):
                found.append((part.offset, node))
            nodes += children(node)[::-1]
    return found


def expressions(template: object) -> Iterable[Any]:
    """Return the expressions of a template or condition."""
    if isinstance(template, TextTemplate):
        return [part for part in template.parts if not isinstance(part, str)]
    if isinstance(template, (Single, Condition)) and template.expression is not None:
        return (template.expression,)
    return ()


def _has_scalar(call: Call) -> bool:
    return any(isinstance(arg, Const) and isinstance(arg.value, (str, int, float)) for arg in call.args)


__all__ = ["ScalarUse", "calls_of", "expressions", "scalar_uses"]
