"""Find the variables that a template uses as single values: compared with one, or passed to a string function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gert_core.template.compile import Condition, Single, TextTemplate
from gert_core.template.tree import Call, Const, Path, children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_COMPARE: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_TEXT: Final = frozenset({"upper", "lower", "trim", "hasPrefix", "hasSuffix", "matches", "split", "int", "float"})


class ScalarUse(NamedTuple):
    """A variable that must be a single value for ``function``."""

    path: tuple[str, ...]
    function: str
    offset: int


def scalar_uses(template: object) -> tuple[ScalarUse, ...]:
    """Return every such use in a template or condition."""
    return tuple(
        ScalarUse(path.segments, name, part.offset + path.offset)
        for part in expressions(template)
        if not isinstance(part.tree, (Path, Const))
        for path, name in _walk(part.tree)
    )


def expressions(template: object) -> Iterable[Any]:
    """Return the expressions of a template or condition."""
    if isinstance(template, TextTemplate):
        return [part for part in template.parts if not isinstance(part, str)]
    if isinstance(template, (Single, Condition)) and template.expression is not None:
        return (template.expression,)
    return ()


def _walk(node: Any) -> Iterator[tuple[Path, str]]:
    if isinstance(node, Call):
        name = node.function.name
        if name in _TEXT or (name in _COMPARE and any(_scalar(arg) for arg in node.args)):
            for arg in node.args:
                if isinstance(arg, Path):
                    yield arg, name
    for child in children(node):
        yield from _walk(child)


def _scalar(node: object) -> bool:
    return isinstance(node, Const) and isinstance(node.value, (str, int, float))


__all__ = ["ScalarUse", "expressions", "scalar_uses"]
