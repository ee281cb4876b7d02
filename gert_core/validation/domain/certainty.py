"""Decide whether an output that a template reads certainly exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Flow
from gert_core.template import MappingVariables, TemplateError, compile_value, to_text
from gert_core.template.tree import AllOf, AnyOf, Choice, Default, Defined, Path, children
from gert_core.validation.domain.every_path import set_together
from gert_core.validation.domain.flow import guarded
from gert_core.validation.domain.looped import is_item
from gert_core.validation.domain.positions import common_list
from gert_core.validation.domain.scalars import expressions
from gert_core.validation.domain.tested import NOTHING, STATUSES, SUCCESS, both, tests_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.documents import tree
    from gert_core.documents.parts import ForEachModel
    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.validation.domain.environment import Entry
    from gert_core.validation.domain.flow import FlowMap
    from gert_core.validation.domain.tested import Excluded

_EMPTY: Final = {
    "int": ("0", "0"),
    "float": ("0.0", "0.0"),
    "bool": ("false", "false"),
    "list": ("(range 0)", "[]"),
    "object": ('(fromJson "{}")', "{}"),
}
"""The empty value of each type in the two dialects; text for all others."""
FAILED: Final = frozenset({"failed", "error"})


def is_protected(template: object, path: tuple[str, ...], certain: Callable[[Excluded], bool]) -> bool:
    """Return whether a template reads a path only where a test in the same expression makes it ``certain``."""
    return not any(_exposed(part.tree, path, certain, NOTHING) for part in expressions(template))


def _exposed(node: Any, path: tuple[str, ...], certain: Callable[[Excluded], bool], known: Excluded) -> bool:
    match node:
        case Path(segments=segments):
            return segments == path and not certain(known)
        case Defined():
            return False
        case Default(fallback=fallback):
            return _exposed(fallback, path, certain, known)
        case Choice(test=test, then=then, other=other):
            yes, no = tests_of(test)
            return (
                _exposed(test, path, certain, known)
                or _exposed(then, path, certain, both((known, yes)))
                or _exposed(other, path, certain, both((known, no)))
            )
        case AllOf(args=args) | AnyOf(args=args):  # evaluated in order, up to the one that decides
            for arg in args:
                if _exposed(arg, path, certain, known):
                    return True
                known = both((known, tests_of(arg)[isinstance(node, AnyOf)]))
            return False
    return any(_exposed(child, path, certain, known) for child in children(node))


def possible(step: StepNode, flow: FlowMap, around: dict[tree.Path, int]) -> frozenset[str]:
    """Return the statuses that a step may have at the step with these ancestors."""
    common = common_list(step, around)
    found = STATUSES if guarded(step) else STATUSES - {"skipped"}
    if flow.jumps or common is None or common.first >= common.then:
        return found
    if common.arm < 0:
        return own_statuses(step)
    return found - {"not_run"} if _starts(step, common.block) else found


def _starts(step: StepNode, last: BlockNode) -> bool:
    """Return whether a step inside others, up to those in the list ``last``, runs whenever that list goes on behind."""
    node = step
    while node.within is not None and node.within is not last:
        block, owner = node.within, node.within.owner
        first = node.index == 0 and block.block is not None and block.block.runs[0] > 0 and not block.cleanup
        if not first or owner is None or owner.type.flow is not Flow.IN_ORDER or guarded(owner):
            return False
        node = owner
    return node.fields.for_each is None


def has_begun(step: StepNode, around: dict[tree.Path, int]) -> bool:
    """Return whether a step stands first in what the step with these ancestors cleans up after."""
    common = common_list(step, around)
    if common is not None and common.first != common.then:
        return False
    node = step
    while node.index == 0 and node.within is not None and not node.within.cleanup:
        block, owner = node.within, node.within.owner
        if owner is None or block.block is None:
            return common is None
        if owner.type.flow is not Flow.IN_ORDER or block.block.runs[0] < 1:
            return False
        if common is not None and owner.within is common.block:
            return True
        if guarded(owner) or owner.fields.for_each is not None:
            return False
        node = owner
    return False


def own_statuses(step: StepNode) -> frozenset[str]:
    """Return the statuses that a step, or an item of a loop, may have where its list goes on behind it."""
    found = {SUCCESS}
    if guarded(step):
        found.add("skipped")
    if step.fields.continue_on_fail:
        found |= FAILED
    return frozenset(found)


def is_certain(entry: Entry, flow: FlowMap, around: dict[tree.Path, int]) -> bool:
    """Return whether a variable has a value on every path to the step with these ancestors."""
    steps = list(entry.steps())
    if not flow.jumps or not steps or entry.given:
        return bool(entry.holds)
    newest = common_list(steps[0], around)
    if len(steps) > 1 and newest is not None and flow.of(newest.block).spent:
        return True
    common = [newest, *(common_list(step, around) for step in steps[1:])]
    if any(place is None or place.first == place.then for place in common):
        return bool(entry.holds)
    if len(steps) > 1:  # jumps may lead past those of them that make it hold
        return set_together(steps, flow, around)
    (step,), (place,) = steps, common
    assert place is not None  # noqa: S101 - asked above
    if entry.holds:
        return flow.of(place.block).dominates(place.first, place.then)
    loop = step.fields.for_each
    ends = loop is not None and loop.until is not None
    return place.arm >= 0 and not ends and not _may_lack(step) and set_together(steps, flow, around)


def _may_lack(step: StepNode) -> bool:
    return guarded(step) or step.fields.continue_on_fail


def may_end_before(step: StepNode, item: tuple[str, ...]) -> bool:
    """Return whether a loop may end early, before it comes to an item; the first one always runs."""
    loop = step.fields.for_each
    return loop is not None and loop.until is not None and is_item(item) and item[-1] != _first_item(loop)


def _first_item(loop: ForEachModel) -> str | None:
    """Return the label of a loop's first item; None where it is known in runs only."""
    if loop.key is None:
        return "0"
    if not isinstance(loop.over, list) or not loop.over or not compile_value(loop.over[0]).static:
        return None
    try:
        return to_text(compile_value(loop.key).render(MappingVariables({loop.as_: loop.over[0]})))
    except TemplateError:  # it needs more than the item
        return None


def why_uncertain(step: StepNode, *, item: bool, begins: bool) -> str:
    """Return why an output of a step, or of an item of a loop, may be missing although the step ``begins``, or else."""
    if not begins:
        return f"step `{step.id}` runs on only some paths"
    if item and _may_lack(step):
        return f"items of `{step.id}` may " + ("be skipped" if guarded(step) else "fail, and the run goes on")
    if guarded(step):
        return f"step `{step.id}` may be skipped"
    if step.fields.continue_on_fail:
        return f"step `{step.id}` may fail, and the run goes on"
    return f"step `{step.id}` runs on only some paths"


def default_of(kind: str, shown: str, *, kernel: bool) -> str:
    """Return the expression that reads a path and gives the empty value of its type where nothing is there."""
    value, jinja = _EMPTY.get(kind, ('""', '""'))
    return f"({shown} | default {value})" if kernel else f"({shown[1:]} | default({jinja}))"


__all__ = [
    "FAILED",
    "default_of",
    "has_begun",
    "is_certain",
    "is_protected",
    "may_end_before",
    "own_statuses",
    "possible",
    "why_uncertain",
]
