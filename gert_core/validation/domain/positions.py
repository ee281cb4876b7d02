"""Relative positions of two steps: their common list, their order, and a loop around the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.documents.tree import BlockNode, Path, StepNode
    from gert_core.validation.domain.flow import FlowMap


class CommonList(NamedTuple):
    """The list two steps have in common, and the members that contain them; ``loop`` contains the first one only."""

    block: BlockNode
    first: int
    arm: int
    then: int
    loop: StepNode | None


def ancestors(step: StepNode) -> dict[Path, int]:
    """Return the path of every list around a step with the index of the member that contains it."""
    found: dict[Path, int] = {}
    node: StepNode | None = step
    while node is not None and node.within is not None:
        found[node.within.path] = node.index
        node = node.within.owner
    return found


def common_list(first: StepNode, around: dict[Path, int]) -> CommonList | None:
    """Return the innermost list that ``first`` shares with the step whose ancestors are ``around``."""
    node: StepNode | None = first
    arm, loop = -1, None
    while node is not None and node.within is not None:
        if node.fields.for_each is not None and node is not first:
            loop = node
        block = node.within
        if block.path in around:
            return CommonList(block, node.index, arm, around[block.path], loop)
        if block.repeats:
            loop = block.owner
        owner = block.owner
        arm = owner.blocks.index(block) if owner is not None else -1
        node = owner
    return None


def may_precede(flow: FlowMap, steps: Iterable[StepNode], around: dict[Path, int]) -> bool:
    """Return whether any of the steps may have run before the step with these ancestors runs for the first time."""
    asked = False
    for step in steps:
        asked = True
        common = common_list(step, around)
        if common is None or common.first == common.then:
            return True
        if flow.of(common.block).precedes(common.first, common.arm, common.then):
            return True
    return not asked


__all__ = ["CommonList", "ancestors", "common_list", "may_precede"]
