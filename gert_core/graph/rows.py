"""Place blocks beside each other in rows below the box of their step, and draw the ways between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.graph.pieces import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.graph.order import Levels
    from gert_core.graph.pieces import Piece

_SIDE: Final = 26.0
"""Between blocks beside each other."""
_BETWEEN: Final = 38.0
"""Between rows."""
_LANE: Final = 14.0

Points = list[tuple[float, float]]


class Rows:
    """The places of a step's blocks, by number; ways that lead past a row go round it on the right, in lanes."""

    def __init__(self, head: Piece, inner: Sequence[Piece], order: Levels) -> None:
        widths = [sum(inner[i].width for i in row) + _SIDE * (len(row) - 1) for row in order.rows]
        self.width = max(head.width, *widths)
        self.axis = self.width / 2
        self.lanes = 0.0
        self._head = head
        self._inner = inner
        self._order = order
        self._row_of = {index: number for number, row in enumerate(order.rows) for index in row}
        self._bottoms: list[float] = []
        self.places: dict[int, tuple[float, float]] = {}
        y = head.height
        for row, taken in zip(order.rows, widths, strict=True):
            y += _BETWEEN
            x = self.axis - taken / 2
            for index in row:
                self.places[index] = (x, y)
                x += inner[index].width + _SIDE
            y += max(inner[i].height for i in row)
            self._bottoms.append(y)
        self.bottom = y

    def ways(self, *, joins: bool) -> list[str]:
        """Return the ways to the blocks, between them and, if the run goes on, to where they come together."""
        found = []
        for index in self.places:
            end = self._entry(index)
            if not self._order.before[index]:
                joint = self._head.height + 16
                found.append(line([(self.axis, self._head.height), (self.axis, joint), (end[0], joint), end]))
            found += [line(self._way(earlier, end, end[1] - 19)) for earlier in self._order.before[index]]
        for index in self._order.last if joins else ():
            if self._inner[index].leaves:
                points = self._way(index, (self.axis, self.bottom + 18), self.bottom + 10)
                found.append(line(points, arrow=False))
        return found

    def _entry(self, index: int) -> tuple[float, float]:
        x, top = self.places[index]
        return x + self._inner[index].axis, top - 1

    def _way(self, start: int, end: tuple[float, float], joint: float) -> Points:
        x, top = self.places[start]
        left = x + self._inner[start].axis
        points: Points = [(left, top + self._inner[start].height)]
        row = self._row_of[start]
        if row + 1 < len(self._bottoms) and joint > self._bottoms[row + 1]:
            self.lanes += _LANE
            beside = self.width + self.lanes
            below = self._bottoms[row] + 8
            points += [(left, below), (beside, below), (beside, joint)]
        else:
            points.append((left, joint))
        return [*points, (end[0], joint), end]


__all__ = ["Rows"]
