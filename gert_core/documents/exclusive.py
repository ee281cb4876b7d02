"""Find steps of which only one can run: in different arms, or in blocks of which one handles the other's failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Flow

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode, StepNode


def exclusive(one: StepNode, other: StepNode) -> bool:
    """Return whether two steps are in different blocks of a step that count as exclusive."""
    blocks = {step.path: block for step, block in _ancestry(one)}
    for step, block in _ancestry(other):
        first = blocks.get(step.path)
        if first is not None:
            return first.path != block.path and _excludes(step, first, block)
    top, then = _top(one), _top(other)
    return (top.handles and not then.cleanup) or (then.handles and not top.cleanup)


def _excludes(step: StepNode, one: BlockNode, other: BlockNode) -> bool:
    """Return whether of two blocks of a step only one counts: an arm, or one that handles the other's failure."""
    if step.type.flow is not Flow.IN_ORDER:
        return step.type.flow is Flow.ONE_OF
    first, second = sorted((one, other), key=step.blocks.index)
    # Its steps take the place of those whose failure it handles; a cleanup block that always runs stands for itself.
    return second.block is not None and second.block.runs == (0, 1) and not first.cleanup


def _top(node: StepNode) -> BlockNode:
    """Return the list of the runbook that a step is in, at any depth."""
    while True:
        assert node.within is not None  # noqa: S101 - every step is in a list
        if node.within.owner is None:
            return node.within
        node = node.within.owner


def _ancestry(node: StepNode) -> list[tuple[StepNode, BlockNode]]:
    """Return the steps around a step, innermost first, each with the block that contains it."""
    found = []
    block = node.within
    while block is not None and block.owner is not None:
        found.append((block.owner, block))
        block = block.owner.within
    return found


__all__ = ["exclusive"]
