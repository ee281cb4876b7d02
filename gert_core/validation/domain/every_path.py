"""Decide whether steps that jumps keep apart set a variable on every path to a step, all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Flow
from gert_core.validation.domain.flow import guarded
from gert_core.validation.domain.positions import common_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.documents import tree
    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.validation.domain.flow import FlowMap

    Setting = dict[BlockNode, dict[int, StepNode]]
    """The members of lists that set a variable, or that steps stand in that do."""


def set_together(steps: Sequence[StepNode], flow: FlowMap, around: dict[tree.Path, int]) -> bool:
    """Return whether every path to the step with these ancestors leads over one of the steps that set a value."""
    setting: Setting = {}
    goals: dict[BlockNode, int] = {}
    for step in steps:
        common = common_list(step, around)
        if common is None or common.first == common.then:
            continue
        goals[common.block] = common.then
        node: StepNode | None = step
        while node is not None and node.within is not None:
            setting.setdefault(node.within, {})[node.index] = node
            node = node.within.owner if node.within is not common.block else None
    return any(not _passes(block, then, flow, (setting, steps)) for block, then in goals.items())


def _passes(block: BlockNode, then: int, flow: FlowMap, known: tuple[Setting, Sequence[StepNode]]) -> bool:
    """Return whether a path through a list leads to a member, or to the end, and sets nothing."""
    ways = {index: _ways(node, flow, known) for index, node in known[0].get(block, {}).items()}
    return flow.of(block).leads_to(then, ways)


def _ways(node: StepNode, flow: FlowMap, known: tuple[Setting, Sequence[StepNode]]) -> tuple[int, ...]:
    """Return what may come after a member of a list that has set nothing."""
    assert node.within is not None  # noqa: S101 - a member of a list
    within = flow.of(node.within)
    every, itself = within.follow[node.index], any(node is step for step in known[1])
    if itself and node.fields.for_each is not None:
        return ()
    if node.fields.continue_on_fail:
        return every
    skipped = (node.index + 1,) if guarded(node) else ()
    if itself:
        return skipped
    through = [
        number
        for number, block in enumerate(node.blocks)
        if flow.of(block).falls and _passes(block, len(block.steps), flow, known)
    ]
    if node.type.flow is Flow.ONE_OF:
        return tuple({*skipped, *(way for number in through for way in within.arms.get((node.index, number), every))})
    certain = [block for block in node.blocks if block.handles]
    if certain and node.type.flow is Flow.IN_ORDER:  # either what it cleans up after came to its end, or this did
        certain.append(node.blocks[0])
        return every if any(node.blocks[number] in certain for number in through) else skipped
    always = [n for n, block in enumerate(node.blocks) if block.block is not None and block.block.runs[0] > 0]
    return every if all(number in through for number in always) else skipped


__all__ = ["set_together"]
