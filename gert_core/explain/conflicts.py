"""Find what keeps a step from running at the same time as others: resources that one writes and the other uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import Flow
from gert_core.contracts import conflict
from gert_core.validation.domain.concurrent import known_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.contracts import Contracts
    from gert_core.documents.ordering import BlockOrder
    from gert_core.documents.tree import BlockNode, StepNode


class Conflict(Struct, frozen=True, kw_only=True):
    """Blocks of a step that run one after another because of what this step touches.

    ``step`` is the step that both blocks belong to, ``block`` the other block; without one it is the step's own loop,
    whose items conflict with each other.
    """

    step: str
    tags: tuple[str, ...]
    block: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``conflicts`` in ``gert explain --json``."""
        return {"step": self.step, "block": self.block, "tags": list(self.tags)}


class Orders:
    """The orders among the blocks of steps, each found once: every step inside them asks for it."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[StepNode, tuple[BlockOrder | None, dict[BlockNode, int]]] = {}

    def of(self, step: StepNode) -> tuple[BlockOrder | None, dict[BlockNode, int]]:
        """Return the order, None without one, and the place of each block."""
        if (known := self._found.get(step)) is None:
            known = self._found[step] = known_order(step), {block: at for at, block in enumerate(step.blocks)}
        return known


def conflicts(step: StepNode, contracts: Contracts, orders: Orders) -> Iterator[Conflict]:
    """Yield the conflicts of a step with other blocks at any depth, and of its own items."""
    own = contracts.whole(step)
    loop = step.fields.for_each
    if loop is not None and loop.parallel and (tags := conflict(own, own)):
        yield Conflict(step=step.id, tags=tuple(sorted(tags)))
    block: BlockNode | None = step.within
    while block is not None and block.owner is not None:
        owner = block.owner
        if owner.type.flow is Flow.ALL_OF:
            order, places = orders.of(owner)
            place = places.get(block, -1)
            for number, other in enumerate(owner.blocks):
                if number == place or (order is not None and place >= 0 and order.are_ordered(number, place)):
                    continue
                if tags := conflict(own, contracts.block(other)):
                    yield Conflict(step=owner.id, block=other.name, tags=tuple(sorted(tags)))
        block = owner.within


__all__ = ["Conflict", "Orders", "conflicts"]
