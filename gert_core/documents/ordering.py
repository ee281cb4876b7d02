"""The order of blocks that run concurrently, by the blocks that each of them comes after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Block


class OrderError(RuntimeError):
    """Blocks that cannot be ordered: ``names`` form a circle, or the first comes after the second, which is unknown."""

    def __init__(self, names: Sequence[str], *, unknown: bool) -> None:
        self.names = tuple(names)
        self.unknown = unknown
        super().__init__(
            f"block {names[0]!r} comes after {names[1]!r}, which is not one of the blocks"
            if unknown
            else f"blocks come after each other: {' -> '.join(names)}"
        )


class BlockOrder(Struct, frozen=True):
    """Which blocks come before each one, by number: ``direct`` as it says itself, ``before`` with those before them.

    ``sequence`` is an order in which all of them can run one after another, as near to the declared one as possible.
    """

    direct: tuple[frozenset[int], ...]
    before: tuple[frozenset[int], ...]
    sequence: tuple[int, ...]

    def are_ordered(self, one: int, other: int) -> bool:
        """Return whether one of two blocks always comes before the other."""
        return one in self.before[other] or other in self.before[one]


def order_blocks(blocks: Sequence[Block | None]) -> BlockOrder | None:
    """Return the order of blocks; None when none of them comes after another. Raise ``OrderError``."""
    if not any(block is not None and block.after for block in blocks):
        return None
    numbers = {block.name: number for number, block in enumerate(blocks) if block is not None}
    direct = []
    for block in blocks:
        names = () if block is None else block.after
        unknown = next((name for name in names if name not in numbers), None)
        if block is not None and unknown is not None:
            raise OrderError((block.name, unknown), unknown=True)
        direct.append(frozenset(numbers[name] for name in names))
    sequence = _sequence(blocks, direct)
    before: list[frozenset[int]] = [frozenset()] * len(blocks)
    for number in sequence:
        before[number] = direct[number].union(*(before[earlier] for earlier in direct[number]))
    return BlockOrder(tuple(direct), tuple(before), tuple(sequence))


def _sequence(blocks: Sequence[Block | None], direct: Sequence[frozenset[int]]) -> list[int]:
    """Return the blocks one after another, the first declared one that is ready next; raise for a circle."""
    import graphlib
    import heapq

    sorter = graphlib.TopologicalSorter(dict(enumerate(direct)))
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        names = [getattr(blocks[number], "name", "") for number in error.args[1]]
        raise OrderError(names, unknown=False) from None
    ready: list[int] = []
    sequence = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heapq.heappush(ready, number)
        number = heapq.heappop(ready)
        sequence.append(number)
        sorter.done(number)
    return sequence


__all__ = ["BlockOrder", "OrderError", "order_blocks"]
