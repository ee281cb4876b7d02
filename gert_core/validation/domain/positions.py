"""How two steps stand to each other: in which common list, before or after, inside which loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gert_core.validation.domain.flow import FlowMap, loops

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.documents.tree import BlockNode, StepNode


class Meeting(NamedTuple):
    """The list two steps have in common, and the members of it they stand in; ``loop`` holds the first one only."""

    block: BlockNode
    first: int
    arm: int
    then: int
    loop: StepNode | None


def ancestors(step: StepNode) -> dict[int, int]:
    """Every list around a step, by identity, with the index of the member that leads to it."""
    found: dict[int, int] = {}
    node: StepNode | None = step
    while node is not None and node.within is not None:
        found[id(node.within)] = node.index
        node = node.within.owner
    return found


def meet(first: StepNode, around: dict[int, int]) -> Meeting | None:
    """Where ``first`` meets the step whose ancestors are ``around``."""
    node: StepNode | None = first
    arm, loop = -1, None
    while node is not None and node.within is not None:
        if node.fields.for_each is not None and node is not first:
            loop = node
        block = node.within
        if id(block) in around:
            return Meeting(block, node.index, arm, around[id(block)], loop)
        if loops(block):
            loop = block.owner
        owner = block.owner
        arm = owner.blocks.index(block) if owner is not None else -1
        node = owner
    return None


def may_precede(flow: FlowMap, steps: Iterable[StepNode], around: dict[int, int]) -> bool:
    """Whether any of the steps may have run before the step with these ancestors runs for the first time."""
    asked = False
    for step in steps:
        asked = True
        met = meet(step, around)
        if met is None or met.first == met.then:
            return True
        if flow.of(met.block).precedes(met.first, met.arm, met.then):
            return True
    return not asked


__all__ = ["Meeting", "ancestors", "may_precede", "meet"]
