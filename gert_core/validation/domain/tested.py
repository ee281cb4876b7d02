"""Work out which statuses of a step a condition leaves possible, where it holds and where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api.results import OutcomeCategory
from gert_core.template.tree import AllOf, AnyOf, Call, Choice, Const, Default, Defined, Items, Path, children
from gert_core.validation.domain.context import FAILURE
from gert_core.validation.domain.scalars import expressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Target = tuple[str, ...]
    """The id of a step, the id of a loop and the key of an item, or these and the id of a step inside it, and so on.

    Of a step that includes a runbook, also each of these with the field that has the outcome. An id with ``HANDLED``
    behind it is a step without a handled failure; a path with ``DEFINED`` before it leads to what is defined.
    """
    Excluded = Mapping[Target, frozenset[str]]
    """The statuses that steps certainly do not have, and the categories that outcomes do not have."""

SUCCESS: Final = "success"
STATUSES: Final = frozenset({SUCCESS, "failed", "error", "skipped", "not_run"})
_OTHERS: Final = STATUSES - {SUCCESS}
_WORDS: Final = frozenset({"status", "passed", "exit_code"})
"""Testing one of these tells how the step came out."""
HANDLED: Final = "handled"
DEFINED: Final = "is defined"
"""No id, so that no path begins with it."""
_CATEGORY, _CODE = "category", "code"
CATEGORIES: Final = frozenset(map(str, OutcomeCategory))
"""What is excluded of an outcome where its category or code is tested, instead of statuses."""
_TELLING: Final = (*sorted(_WORDS), FAILURE, HANDLED, "defined", _CATEGORY, f".{_CODE}")
_SWAPPED: Final = {"ne": "eq", "not in": "in"}
NOTHING: Final[Excluded] = {}


def may_test(text: str) -> bool:
    """Return whether a condition may test a step; most do not, and are not looked into."""
    for word in _TELLING:  # noqa: SIM110 - ``any`` takes twice as long, and every condition is asked about
        if word in text:
            return True
    return False


def tested(template: object) -> tuple[Excluded, Excluded]:
    """Return what a condition excludes where it is true, and where it is false."""
    for part in expressions(template):
        return tests_of(part.tree)
    return NOTHING, NOTHING


def tests_of(node: Any) -> tuple[Excluded, Excluded]:
    """Return what an expression excludes where it is true, and where it is false."""
    match node:
        case AllOf(args=args):
            pairs = [tests_of(arg) for arg in args]
            return both(pair[0] for pair in pairs), _either([pair[1] for pair in pairs])
        case AnyOf(args=args):
            pairs = [tests_of(arg) for arg in args]
            return _either([pair[0] for pair in pairs]), both(pair[1] for pair in pairs)
        case Choice(test=test, then=then, other=other):
            (yes, no), (first, second) = tests_of(test), (tests_of(then), tests_of(other))
            holds, fails = (_either([both((yes, first[n])), both((no, second[n]))]) for n in (0, 1))
            return holds, fails
        case Call(function=function, args=(inner,)) if function.name == "not":
            return tests_of(inner)[::-1]
        case Call(function=function, args=args) if function.name in ("eq", "ne", "in", "not in"):
            pair = _compared(_SWAPPED.get(function.name, function.name), args)
            return pair if function.name not in _SWAPPED else pair[::-1]
        case Path():
            return _bare(node)
        case Defined(value=Path(segments=segments)):
            return {(DEFINED, *without_step(segments)): _OTHERS}, NOTHING
    return _unclear(node)


def both(parts: Iterable[Excluded]) -> Excluded:
    """Return what is excluded where all of these hold."""
    found: dict[Target, frozenset[str]] = {}
    for part in parts:
        for target, statuses in part.items():
            found[target] = found.get(target, frozenset()) | statuses
    return found


def _either(parts: list[Excluded]) -> Excluded:
    first, *others = parts or [NOTHING]
    return {
        target: left
        for target, statuses in first.items()
        if (left := statuses.intersection(*(part.get(target, frozenset()) for part in others)))
    }


def without_step(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path as it is without ``step`` in front, which is another way to write the same."""
    return segments[1:] if segments[0] == "step" and len(segments) > 1 else segments


def _target(node: Any) -> tuple[Target, str] | None:
    """Return the step or item that a path asks about, and the word."""
    if isinstance(node, Default):
        node = node.value
    if not isinstance(node, Path):
        return None
    segments = without_step(node.segments)
    length, last = len(segments), segments[-1]
    if last in (_CATEGORY, _CODE):
        return (segments[:-1], last) if length > 2 else None
    return (segments[:-1], last) if length > 1 and last in _WORDS else None


def _compared(name: str, args: tuple[Any, ...]) -> tuple[Excluded, Excluded]:
    """Return the tests of a comparison with literals: ``eq`` with any of several values, or ``in`` a list of them."""
    asked, *rest = args
    if name == "eq" and len(rest) == 1 and isinstance(asked, Const):
        asked, rest = rest[0], [asked]
    if isinstance(asked, Path) and asked.segments[-1] == HANDLED and rest == [Const(False)]:
        return _bare(asked)[::-1]
    if name == "in" and isinstance(rest[0], Items):
        rest = list(rest[0].items)
    found = _target(asked)
    if found is None or not all(isinstance(value, Const) for value in rest) or (name == "in" and rest == [*args[1:]]):
        return _unclear(*args)
    target, word = found
    if word == "exit_code":
        return {target: _OTHERS}, NOTHING
    values = [value.value for value in rest]
    if word == _CATEGORY:
        return {target: CATEGORIES.difference(values)}, {target: CATEGORIES.intersection(values)}
    if word == _CODE:
        return _trusted(target, word)
    if word == "passed":
        pair = _bare(Path((*target, word)))
        return pair if values == [True] else pair[::-1]
    return {target: STATUSES.difference(values)}, {target: STATUSES.intersection(values)}


def _bare(node: Path) -> tuple[Excluded, Excluded]:
    """Return the tests of a path that stands by itself."""
    found = _target(node)
    if node.segments == (FAILURE,):
        return {node.segments: _OTHERS}, NOTHING
    if node.segments[-1] == HANDLED:
        return NOTHING, {without_step(node.segments): _OTHERS}
    if found is None or found[1] in ("status", _CATEGORY):  # which is never empty
        return NOTHING, NOTHING
    target, word = found
    if word == _CODE:
        return _trusted(target, word)
    return {target: _OTHERS}, {target: frozenset({SUCCESS})} if word == "passed" else NOTHING


def _trusted(target: Target, word: str) -> tuple[Excluded, Excluded]:
    """Return the tests of an author who is trusted to test the right thing."""
    found = {target: CATEGORIES if word in (_CATEGORY, _CODE) else _OTHERS}
    return found, found


def _unclear(*nodes: Any) -> tuple[Excluded, Excluded]:
    """Return the tests of expressions that are not understood: their author is trusted to test the right thing."""
    found: dict[Target, frozenset[str]] = {}
    stack = [*nodes]
    while stack:
        top = stack.pop()
        if isinstance(top, Path) and (asked := _target(top)) is not None:
            found |= _trusted(*asked)[0]
        elif isinstance(top, Path) and top.segments == (FAILURE,):
            found[top.segments] = _OTHERS
        stack.extend(children(top))
    return found, found


__all__ = [
    "CATEGORIES",
    "DEFINED",
    "HANDLED",
    "NOTHING",
    "STATUSES",
    "SUCCESS",
    "Excluded",
    "both",
    "may_test",
    "tested",
    "tests_of",
    "without_step",
]
