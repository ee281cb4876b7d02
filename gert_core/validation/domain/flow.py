"""The flow graph of every list of steps, from flows, blocks, guards and jumps alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.tree import BlockNode, Runbook, StepNode

_SLOW_BUDGET: Final = 40


class ListFlow:
    """The graph of one list: ``follow[i]`` are the steps that may come after step i; the list's length means its end.

    ``arms`` holds the exits of single blocks where a block has an exit of its own.
    """

    __slots__ = ("_ahead", "_breaks", "_budget", "_known", "arms", "block", "falls", "follow", "jumps", "reached")

    def __init__(self, block: BlockNode) -> None:
        self.block = block
        self.follow: list[tuple[int, ...]] = []
        self.arms: dict[tuple[int, int], tuple[int, ...]] = {}
        self.jumps = False
        self.falls = True
        self.reached: set[int] = set()
        self._breaks: list[int] = []
        self._ahead: set[int] = set()
        self._known: dict[tuple[int, int, int], bool] = {}
        self._budget = _SLOW_BUDGET * (len(block.steps) + 50)

    def close(self) -> None:
        """Compute which steps are reached and whether the end of the list is."""
        end = len(self.block.steps)
        if not self.jumps:
            # Without jumps every step leads to its successor or nowhere, so the first "nowhere" decides.
            stop = next((i for i, targets in enumerate(self.follow) if not targets), end)
            self.falls = stop == end
            self.reached = set(range(min(stop + 1, end)))
            return
        self.reached = self._from((0,) if end else (), avoid=-1)
        self.falls = not end or end in self.reached
        self.reached.discard(end)

    def precedes(self, first: int, arm: int, then: int) -> bool:
        """Return whether ``first`` (its block ``arm``) may have run before ``then`` runs for the first time."""
        if not self.jumps or then not in self.reached:
            return first < then or not self.jumps
        exits = self.arms.get((first, arm))
        if exits is None:
            exits = self.follow[first]
            if first < then and self._straight(first, then):
                return True
        asked = (first, arm if (first, arm) in self.arms else -1, then)
        known = self._known.get(asked)
        if known is None:
            known = first == 0 or first in self._from((0,), avoid=then)
            known = known and then in self._from(exits, avoid=-1)
            # Beyond a budget of searches the answer is generous instead of slow.
            self._budget -= 2 * len(self.follow)
            if self._budget > 0:
                self._known[asked] = known
            else:
                known = True
        return known

    def dominates(self, first: int, then: int) -> bool:
        """Return whether every path to ``then`` leads over ``first``."""
        if not self.jumps or first == 0 or then not in self.reached:
            return first < then
        asked = (first, -2, then)
        known = self._known.get(asked)
        if known is None:
            self._budget -= len(self.follow)
            known = self._known[asked] = self._budget <= 0 or then not in self._from((0,), avoid=first)
        return known

    def leads_back(self, first: int, arm: int, then: int) -> bool:
        """Return whether a jump leads back from ``first`` (its block ``arm``) to ``then`` before it."""
        if not self.jumps or first <= then or first not in self.reached:
            return False
        self._budget -= len(self.follow)
        return self.spent or then in self._from(self.arms.get((first, arm), self.follow[first]), avoid=-1)

    @property
    def spent(self) -> bool:
        """Whether so much was searched that every other answer is generous."""
        return self._budget <= 0

    def leads_to(self, then: int, ways: Mapping[int, tuple[int, ...]]) -> bool:
        """Return whether a path leads to ``then`` where some steps have only these ``ways`` on."""
        self._budget -= len(self.follow)
        return not self.spent and then in self._from((0,), avoid=-1, ways=ways)

    def _straight(self, first: int, then: int) -> bool:
        """Return whether falling through, without jumps, leads from the start over ``first`` to ``then``."""
        if not self._breaks:
            self._breaks.append(0)
            self._ahead.add(0)
            for index, targets in enumerate(self.follow):
                self._breaks.append(self._breaks[-1] + (index + 1 not in targets))
                if index in self._ahead:
                    self._ahead.update(target for target in targets if target > index)
        return self._breaks[then] == self._breaks[first] and first in self._ahead

    def _from(
        self, start: tuple[int, ...], *, avoid: int, ways: Mapping[int, tuple[int, ...]] | None = None
    ) -> set[int]:
        seen = {target for target in start if target != avoid}
        stack = list(seen)
        end = len(self.follow)
        while stack:
            index = stack.pop()
            if index == end:
                continue
            for target in self.follow[index] if ways is None or index not in ways else ways[index]:
                if target not in seen and target != avoid:
                    seen.add(target)
                    stack.append(target)
        return seen


class FlowMap:
    """The flow of every list of a runbook.

    Of blocks that run in order, an earlier one may fail and a later one handle that. One that runs only sometimes does
    so; of one that always runs it is not known, and ``generous`` takes it to do so. A cleanup block that always runs
    handles nothing.
    """

    __slots__ = ("_generous", "_lists", "assumes")

    def __init__(self, runbook: Runbook, *, generous: bool = False) -> None:
        self._generous = generous
        self.assumes = False
        """Whether it was taken to be so anywhere."""
        self._lists: dict[BlockNode, ListFlow] = {}
        for block in runbook.lists:
            self._analyse(block)

    def of(self, block: BlockNode) -> ListFlow:
        """Return the flow of one list."""
        return self._lists[block]

    @property
    def jumps(self) -> bool:
        """Whether any list has jumps; without any, document order decides."""
        return any(flow.jumps for flow in self._lists.values())

    def _analyse(self, block: BlockNode) -> ListFlow:
        flow = self._lists[block] = ListFlow(block)
        steps = block.steps
        places: dict[str, int] | None = None
        for index, step in enumerate(steps):
            for inner in step.blocks:
                self._analyse(inner)
            if step.fields.next is None and not (step.blocks and jumping_blocks(step)):
                leads = step.type.flow is Flow.LEAF or self.continues(step) or guarded(step)
                flow.follow.append((index + 1,) if leads else ())
                continue
            if places is None:
                places = {other.id: n for n, other in enumerate(steps)}
            flow.jumps = True
            flow.follow.append(self._jumping(flow, step, index, places=places))
        flow.close()
        return flow

    def _jumping(self, flow: ListFlow, step: StepNode, index: int, *, places: dict[str, int]) -> tuple[int, ...]:
        """Return the exits of a step that has a jump, or a block with one; jumps to unknown steps are ignored."""
        usual: tuple[int, ...] = (index + 1,)
        goal, most = jump_of(step)
        if goal is not None and (target := places.get(goal)) is not None:
            bounded = most is not None or target <= index
            usual = (target, index + 1) if bounded else (target,)
        exits: set[int] = set()
        if self.continues(step):
            own = jumping_blocks(step)
            others = [b for n, b in enumerate(step.blocks) if n not in own]
            if not own or step.fields.continue_on_fail or any(self.of(b).falls for b in others):
                exits.update(usual)
            for n in own:
                place = places.get(str(step.blocks[n].block.jump))  # type: ignore[union-attr]
                leads = usual if place is None or place <= index else (place,)
                if self.of(step.blocks[n]).falls:
                    exits.update(leads)
                    flow.arms[index, n] = leads
            if own:
                for n in set(range(len(step.blocks))) - set(own):
                    flow.arms[index, n] = usual
        if guarded(step):
            exits.add(index + 1)
        return tuple(sorted(exits))

    def continues(self, step: StepNode) -> bool:
        """Return whether the run can continue after the step was executed."""
        kind = step.type.flow
        if kind is Flow.LEAF:
            return True
        if step.fields.for_each is not None and not surely_iterates(step):
            return True
        if kind is Flow.TERMINAL:
            return False
        if step.fields.continue_on_fail or not step.blocks:
            return True
        falls = [self.of(block).falls for block in step.blocks]
        if kind is Flow.ONE_OF:
            return any(falls)
        if kind is Flow.ALL_OF:
            return all(falls)
        return self._in_order(step.blocks, falls)

    def _in_order(self, blocks: Sequence[BlockNode], falls: Sequence[bool]) -> bool:
        """Return whether the run can continue after blocks that run in order."""
        calm, failed = True, False
        for number, (block, fall) in enumerate(zip(blocks, falls, strict=True)):
            optional = block.block is not None and block.block.runs[0] < 1
            handled = failed and fall and bool(block.steps)
            if handled and block.cleanup and not optional:
                handled = False
            elif handled and not optional:
                self.assumes = self.assumes or self._generous
                handled = self._generous
            stops = number + 1 < len(blocks) and (calm or failed) and may_fail(block)
            calm, failed = (calm and (fall or optional)) or handled, stops or (failed and (fall or optional))
        return calm


def jump_of(step: StepNode) -> tuple[str | None, object]:
    """Return the target and the bound of the step's own ``next``, each None when not given."""
    jump = step.fields.next
    if jump is None or isinstance(jump, str):
        return jump, None
    return jump.step, jump.max


def jumping_blocks(step: StepNode) -> list[int]:
    """Return the blocks with a jump of their own; inside an item of a for_each there is no list to jump in."""
    if step.fields.for_each is not None:
        return []
    return [n for n, block in enumerate(step.blocks) if block.block is not None and block.block.jump]


def may_fail(block: BlockNode) -> bool:
    """Return whether a step of a block may fail and stop it."""
    return any(step.type.flow is not Flow.TERMINAL and not step.fields.continue_on_fail for step in block.steps)


def guarded(step: StepNode) -> bool:
    """Return whether the step may be skipped by its guard."""
    when = step.fields.when
    return when is not None and when is not True


def surely_iterates(step: StepNode) -> bool:
    """Return whether the step's for_each iterates over a literal list that is not empty."""
    loop = step.fields.for_each
    return loop is not None and isinstance(loop.over, list) and bool(loop.over)


__all__ = ["FlowMap", "ListFlow", "guarded", "jump_of", "jumping_blocks", "may_fail", "surely_iterates"]
