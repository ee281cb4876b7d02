"""Decide whether an output that a template reads certainly exists, and which tests of a status make it certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.template.tree import AllOf, AnyOf, Choice, Default, Defined, Path, children
from gert_core.validation.domain.flow import guarded
from gert_core.validation.domain.positions import common_list
from gert_core.validation.domain.scalars import expressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.documents import tree
    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.environment import Entry
    from gert_core.validation.domain.flow import FlowMap

TESTS: Final = frozenset({"status", "passed", "exit_code"})
"""Testing one of these tells whether the step ran."""
_EMPTY: Final = {
    "int": ("0", "0"),
    "float": ("0.0", "0.0"),
    "bool": ("false", "false"),
    "list": ("(range 0)", "[]"),
    "object": ('(fromJson "{}")', "{}"),
}
"""The empty value of each type in the two dialects; text for all others."""


def may_test(text: str) -> bool:
    """Return whether a condition may test a step; most do not, and are not looked into."""
    for word in TESTS:  # noqa: SIM110 - ``any`` takes twice as long, and every condition is asked about
        if word in text:
            return True
    return False


def tested_steps(template: object) -> frozenset[str]:
    """Return the steps that a condition tests: in each of its conjuncts, and in all of several alternatives."""
    found: set[str] = set()
    for part in expressions(template):
        found |= _tests(part.tree)
    return frozenset(found)


def _tests(node: Any) -> set[str]:
    if isinstance(node, AnyOf):
        alternatives = [_tests(arg) for arg in node.args]
        return set.intersection(*alternatives) if alternatives else set()
    if isinstance(node, Path):
        segments = node.segments[1:] if node.segments[0] == "step" else node.segments
        return {segments[0]} if len(segments) == 2 and segments[1] in TESTS else set()
    return set().union(*(_tests(child) for child in children(node)))


def is_protected(template: object, path: tuple[str, ...], steps: frozenset[str]) -> bool:
    """Return whether a template reads a path only after a test of one of these steps in the same expression."""
    return not any(_exposed(part.tree, path, steps, safe=False) for part in expressions(template))


def _exposed(node: Any, path: tuple[str, ...], steps: frozenset[str], *, safe: bool) -> bool:
    match node:
        case Path(segments=segments):
            return segments == path and not safe
        case Defined():
            return False
        case Default(fallback=fallback):
            return _exposed(fallback, path, steps, safe=safe)
        case Choice(test=test, then=then, other=other):
            after = safe or bool(_tests(test) & steps)
            return _exposed(test, path, steps, safe=safe) or any(
                _exposed(arm, path, steps, safe=after) for arm in (then, other)
            )
        case AllOf(args=args) | AnyOf(args=args):  # evaluated in order, up to the one that decides
            for arg in args:
                if _exposed(arg, path, steps, safe=safe):
                    return True
                safe = safe or bool(_tests(arg) & steps)
            return False
    return any(_exposed(child, path, steps, safe=safe) for child in children(node))


def is_certain(entry: Entry, flow: FlowMap, around: dict[tree.Path, int]) -> bool:
    """Return whether a variable has a value on every path to the step with these ancestors."""
    steps = list(entry.steps())
    if not flow.jumps or not steps:
        return entry.holds
    for step in steps:
        common = common_list(step, around)
        if common is None or common.first == common.then:
            return entry.holds
        block = flow.of(common.block)
        if entry.holds and block.dominates(common.first, common.then):
            return True
        if not _may_lack(step) and block.leads_alone(common.first, common.arm, common.then):
            return True
    return False


def _may_lack(step: StepNode) -> bool:
    return guarded(step) or step.fields.continue_on_fail


def why_uncertain(steps: Sequence[StepNode]) -> str:
    """Return why an output may be missing."""
    step = steps[0]
    if guarded(step):
        return f"step `{step.id}` may be skipped"
    if step.fields.continue_on_fail:
        return f"step `{step.id}` may fail, and the run goes on"
    return f"step `{step.id}` runs on only some paths"


def default_of(kind: str, shown: str, *, kernel: bool) -> str:
    """Return the expression that reads a path and gives the empty value of its type where nothing is there."""
    value, jinja = _EMPTY.get(kind, ('""', '""'))
    return f"({shown} | default {value})" if kernel else f"({shown[1:]} | default({jinja}))"


def ids_of(steps: Iterable[StepNode]) -> frozenset[str]:
    """Return the ids of steps."""
    return frozenset(step.id for step in steps)


__all__ = ["TESTS", "default_of", "ids_of", "is_certain", "is_protected", "may_test", "tested_steps", "why_uncertain"]
