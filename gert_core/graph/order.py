"""Order blocks that wait for each other into rows, for drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.graph.model import GraphBlock


class Levels(Struct, frozen=True, kw_only=True):
    """The rows of blocks, by number; those that each one directly waits for; and those that none waits for."""

    rows: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]
    last: tuple[int, ...]


def levels(blocks: Sequence[GraphBlock]) -> Levels:
    """Return the order of a step's blocks; blocks that wait for each other in a circle do not wait."""
    numbers = {block.name: index for index, block in enumerate(blocks)}
    direct = [{numbers[name] for name in block.after if name in numbers} for block in blocks]
    row_of: dict[int, int] = {}
    above: dict[int, set[int]] = {}
    left = list(range(len(blocks)))
    while left:
        ready = [index for index in left if direct[index] <= row_of.keys()]
        for index in ready or left:
            known = direct[index] & row_of.keys()
            row_of[index] = 1 + max((row_of[one] for one in known), default=-1)
            above[index] = known.union(*(above[one] for one in known))
        left = [index for index in left if index not in row_of]
    # What another one waits for already needs no way of its own.
    before = [
        tuple(sorted(one for one in direct[i] & above[i] if not any(one in above[other] for other in direct[i])))
        for i in range(len(blocks))
    ]
    rows: list[list[int]] = [[] for _ in range(1 + max(row_of.values(), default=-1))]
    for index in sorted(row_of):
        rows[row_of[index]].append(index)
    waited = {one for ones in before for one in ones}
    return Levels(
        rows=tuple(map(tuple, rows)),
        before=tuple(before),
        last=tuple(index for index in range(len(blocks)) if index not in waited),
    )


__all__ = ["Levels", "levels"]
