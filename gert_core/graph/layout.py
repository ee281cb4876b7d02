"""Lay out the steps of a graph for an SVG: lists from top to bottom, blocks beside each other or framed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.graph.boxes import box
from gert_core.graph.order import levels
from gert_core.graph.pieces import Piece, at, clean, label, line, number, words
from gert_core.graph.rows import Rows
from gert_core.graph.sizes import fit, lines_of, text_width
from gert_core.graph.text import block_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.graph.model import GraphBlock, GraphStep

GAP: Final = 30.0
"""Between two steps of a list."""
_INSIDE: Final = 14.0
"""Between a frame and what is in it."""
_TITLE: Final = 24.0
_LANE: Final = 16.0
_LABEL: Final = 330.0
_NARROW: Final = 190.0


class Layout:
    """Makes a piece of every step and list; ``run``: the statuses of a run are shown."""

    def __init__(self, *, run: bool) -> None:
        self._run = run

    def steps(self, steps: Sequence[GraphStep]) -> Piece:
        """Return a list of steps, one below the other, with the ways between them."""
        pieces = [self._step(step) for step in steps]
        axis = max((piece.axis for piece in pieces), default=0.0)
        wide = max((piece.width - piece.axis for piece in pieces), default=0.0)
        parts: list[str] = []
        tops: list[float] = []
        y = 0.0
        arrives = False
        for piece, step in zip(pieces, steps, strict=True):
            if tops:
                y += GAP
                if arrives:
                    parts.append(line([(axis, y - GAP), (axis, y - 1)]))
            tops.append(y)
            parts += at(axis - piece.axis, y, piece.parts)
            y += piece.height
            arrives = piece.leaves and step.continues
            if arrives and step.flow == "terminal":
                parts.append(words(axis + 8, y + GAP / 2 + 2, "otherwise", "note"))
        width = axis + wide
        more = self._jumps(steps, pieces, tops, axis, width, parts)
        return Piece(width=width + more, height=y, axis=axis, parts=parts, leaves=arrives or not steps)

    def _jumps(
        self,
        steps: Sequence[GraphStep],
        pieces: Sequence[Piece],
        tops: Sequence[float],
        axis: float,
        width: float,
        parts: list[str],
    ) -> float:
        """Draw the jumps of a list in lanes beside it; return how much wider it is by them."""
        places = {step.key: index for index, step in enumerate(steps)}
        jumps = [(i, places[s.jump.to], s.jump.label) for i, s in enumerate(steps) if s.jump and s.jump.to in places]
        taken: list[list[tuple[int, int]]] = []
        more = 0.0
        for start, end, bound in sorted(jumps, key=lambda jump: (abs(jump[0] - jump[1]), jump)):
            low, high = min(start, end), max(start, end)
            lane = next(
                (n for n, spans in enumerate(taken) if all(high <= a or low >= b for a, b in spans)), len(taken)
            )
            if lane == len(taken):
                taken.append([])
            taken[lane].append((low, high))
            x = width + _LANE * (lane + 1)
            begin, target = pieces[start], pieces[end]
            from_y, to_y = tops[start] + begin.middle + 5, tops[end] + target.middle - 5
            points = [(axis - begin.axis + begin.right, from_y), (x, from_y), (x, to_y)]
            parts.append(line([*points, (axis - target.axis + target.right + 1, to_y)], style="way jump"))
            text = fit(clean(f"next, {bound}" if bound else "next"), _LABEL, 11)
            parts.append(words(x + 6, (from_y + to_y) / 2 + 4, text, "note"))
            more = max(more, _LANE * (lane + 1) + 12 + text_width(text, 11))
        return more

    def _step(self, step: GraphStep) -> Piece:
        head = box(step, run=self._run)
        if not step.blocks:
            return head
        if step.flow == "in_order":
            return self._framed(step, head)
        return self._beside(step, head)

    def _framed(self, step: GraphStep, head: Piece) -> Piece:
        """Return a step whose blocks run in turn: its box, and its blocks in frames below it."""
        inner = [self.frame(block) for block in step.blocks]
        axis = max(piece.axis for piece in (head, *inner)) + _INSIDE
        width = axis + max(piece.width - piece.axis for piece in (head, *inner)) + _INSIDE
        y = head.height + 18.0
        parts = at(axis - head.axis, 0, head.parts)
        for number_, piece in enumerate(inner):
            block = step.blocks[number_]
            style = "way soft" if block.cleanup else "way"
            if number_ == 0 or inner[number_ - 1].leaves or block.cleanup:
                parts.append(line([(axis, y - 18), (axis, y - 1)], style=style))
            parts += at(axis - piece.axis, y, piece.parts)
            y += piece.height + 18
        height = y - 18 + _INSIDE
        top = head.height / 2
        size = f'y="{number(top)}" width="{number(width)}" height="{number(height - top)}"'
        frame = f'<rect class="around" {size} rx="10"/>'
        return Piece(
            width=width,
            height=height,
            axis=axis,
            parts=[frame, *parts],
            right=axis - head.axis + head.right,
            middle=head.middle,
            leaves=step.continues,
        )

    def frame(self, block: GraphBlock) -> Piece:
        """Return a block in a frame that has its title."""
        inside = self.steps(block.steps)
        text = clean(block_title(block) if block.steps else f"{block_title(block)}: nothing to do")
        room = min(max(inside.width, _NARROW), _LABEL)
        lines = lines_of(text, room, 11, most=3)
        least = max(text_width(one, 11) for one in lines) + 2 * _INSIDE + 6
        left = max(inside.axis, least / 2 - _INSIDE)
        width = max(left + max(inside.width - inside.axis, least / 2 - _INSIDE), 60.0) + 2 * _INSIDE
        title = _TITLE + 14 * (len(lines) - 1)
        height = title + inside.height + (_INSIDE if block.steps else 0)
        drawn = (
            "cleanup" if block.cleanup else "included" if block.included else "repeats" if block.repeats else "plain"
        )
        parts = [f'<rect class="frame {drawn}" width="{number(width)}" height="{number(height)}" rx="8"/>']
        parts += [words(10, 16 + 14 * n, one, "note") for n, one in enumerate(lines)]
        axis = left + _INSIDE
        if block.jump is not None:
            height += 20
            parts += label(axis, height - 6, fit(clean(f"next {block.jump.to.rpartition('/')[2]}"), _LABEL, 11))
        parts += at(axis - inside.axis, title, inside.parts)
        leaves = inside.leaves and block.jump is None
        return Piece(width=width, height=height, axis=axis, parts=parts, leaves=leaves)

    def _beside(self, step: GraphStep, head: Piece) -> Piece:
        """Return a step whose blocks stand beside each other, in rows where some wait for others."""
        inner = [self.frame(block) for block in step.blocks]
        rows = Rows(head, inner, levels(step.blocks))
        parts = at(rows.axis - head.axis, 0, head.parts)
        ways = rows.ways(joins=step.continues)
        framed = [part for index, (x, top) in rows.places.items() for part in at(x, top, inner[index].parts)]
        return Piece(
            width=rows.width + rows.lanes,
            height=rows.bottom + (18 if step.continues else 0),
            axis=rows.axis,
            parts=[*ways, *parts, *framed],
            right=rows.axis - head.axis + head.right,
            middle=head.middle,
            leaves=step.continues,
        )


__all__ = ["GAP", "Layout"]
