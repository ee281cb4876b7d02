"""Run blocks concurrently: forked variables, bounded threads, conflicting blocks one after another."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.contracts import conflict
from gert_core.documents.ordering import order_blocks
from gert_core.engine.flow.frame import ignored_beside
from gert_core.engine.signals import NOT_STARTED, Rank, Signal
from gert_core.engine.state import Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api import Branch
    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.engine.cancel import Deadline
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution

    Task = Callable[[int], Signal | None]

_NONE: Final[frozenset[int]] = frozenset()


def run_block(
    execution: StepExecution,
    node: BlockNode,
    layer: Layer,
    *,
    key: int | None,
    branch: Mapping[str, object] | None,
    caught: bool,
    within: Deadline | None = None,
    ignored_doubts: int | None = None,
) -> Signal | None:
    """Run one block now, in this thread; ``within`` is the deadline of a cleanup, which the step's own does not end.

    ``ignored_doubts`` is that of the block's frame; None: as that of the list around it.
    """
    from gert_core.engine.flow.lists import run_list
    from gert_core.engine.steps.blocks import child_frame

    if node.included is not None:
        from gert_core.engine.flow.included import run_included

        return run_included(execution, node, key=key, branch=branch, caught=caught)
    quiet = node.block is not None and node.block.quiet
    if ignored_doubts is None and node.cleanup:
        ignored_doubts = ignored_beside(execution)
    frame = child_frame(
        execution,
        layer,
        key=key,
        branch=branch,
        caught=caught,
        within=within,
        quiet=quiet,
        ignored_doubts=ignored_doubts,
        passed=f"[{key}]" if node.repeats and key is not None else "",
    )
    if node.repeats and key is not None:
        frame.round = key + 1
    return run_list(execution.run, node, frame)


def run_forked(
    execution: StepExecution,
    runs: Sequence[Branch],
    nodes: Sequence[BlockNode],
    *,
    waits: Sequence[Sequence[int]],
    limit: int,
    caught: bool,
) -> list[tuple[Signal | None, dict[str, object]]]:
    """Run blocks on overlays and merge them in declaration order; return signal and promoted names of each."""
    order = order_blocks([node.block for node in nodes])
    bound = frozenset({execution.compiled.type.name})
    layers = [Layer(execution.layer, loop=node.path if node.repeats else None) for node in nodes]
    for layer, one in zip(layers, runs, strict=True):
        if one.bind:
            layer.bind({execution.compiled.type.name: dict(one.bind)})

    unknown: dict[int, int] = {}
    """In dry-run, by block: how many results in it are known only in a real run; blocks beside it run all the same."""

    def task(index: int) -> Signal | None:
        if order is not None and order.before[index]:  # over what the blocks before it have set
            base = layers[index].parent = Layer(execution.layer)
            for number in (one for one in order.sequence if one in order.before[index]):
                base.absorb(layers[number], bound=bound)
        facts = {"index": runs[index].key, "label": nodes[index].name, "parent": execution.key}
        doubts = execution.run.doubts
        beside = sum(count for one, count in unknown.items() if order is None or one not in order.before[index])
        signal = run_block(
            execution,
            nodes[index],
            layers[index],
            key=runs[index].key,
            branch=facts,
            caught=caught,
            ignored_doubts=execution.frame.ignored_doubts + beside,
        )
        if execution.run.doubts > doubts:
            unknown[index] = execution.run.doubts - doubts
        return signal

    signals = run_tasks(execution.run, len(runs), task, waits=waits, limit=limit, after=order.direct if order else ())
    for number in order.sequence if order else range(len(layers)):
        execution.layer.absorb(layers[number], bound=bound)
    produced = [{n: v for n, v in layer.vars.items() if layer.owners.get(n)} for layer in layers]
    return list(zip(signals, produced, strict=True))


def waits_of(run: Run, nodes: Sequence[BlockNode]) -> list[list[int]]:
    """Return for each block those it waits for: it comes after them, their contracts conflict, or a policy serialises.

    Of blocks that conflict, the one that is declared earlier runs first, unless another order says otherwise.
    """
    order = order_blocks([node.block for node in nodes])
    contracts = [run.facts.compiled.contracts.block(node) for node in nodes]
    held = [any(serializes(run, step) for step in node.steps) for node in nodes]
    writes = [bool(contract.writes) for contract in contracts]  # blocks that only read do not conflict

    def waits(i: int, j: int) -> bool:
        if held[i] and held[j]:
            return True
        return (writes[i] or writes[j]) and bool(conflict(contracts[i], contracts[j]))

    if order is None:
        return [[j for j in range(i) if waits(i, j)] for i in range(len(nodes))]
    place = {number: position for position, number in enumerate(order.sequence)}
    return [
        sorted(
            order.direct[i]
            | {j for j in place if place[j] < place[i] and not order.are_ordered(i, j) and waits(max(i, j), min(i, j))}
        )
        for i in range(len(nodes))
    ]


def serializes(run: Run, step: StepNode) -> bool:
    """Return whether a policy requires that branches with such a step, or one below it, run one after another."""
    if step.includes and any(_serialized(run, block) for block in step.includes):
        return True
    if step.type.blocks is not None:
        return any(serializes(run, inner) for block in step.blocks for inner in block.steps)
    return run.facts.policies.serializes(*run.facts.compiled.contracts.levels(step))


def _serialized(run: Run, block: BlockNode) -> bool:
    from gert_core.engine.flow.included import serializes_included

    return serializes_included(run, block)


def run_tasks(
    run: Run,
    count: int,
    task: Task,
    *,
    limit: int,
    waits: Sequence[Sequence[int]] = (),
    after: Sequence[frozenset[int]] = (),
) -> list[Signal | None]:
    """Run ``task(0)`` to ``task(count - 1)`` with at most ``limit`` at a time; all of them finish.

    A task whose predecessor is suspended does not start in this process, and one that comes ``after`` a task that did
    not succeed is not started at all. In replay and dry-run tasks run one by
    one in the calling thread, so that the trace is the same every time.
    """
    schedule = _Schedule(count, task, waits, after, on_fault=lambda: run.services.stop.throw("internal"))
    if run.services.backend.sequential or limit <= 1 or count <= 1:
        schedule.work()
    else:
        from gert_core.engine.flow.ready import make_ready

        make_ready(run)
        _start(schedule.work, min(limit, count) - 1)
        try:
            schedule.work()
            schedule.join()
        except BaseException as fault:  # this thread leaves, so the others end what they do
            schedule.fail(fault)
            schedule.join()
    if schedule.fault is not None:
        raise schedule.fault
    return schedule.results


def _start(work: Callable[[], None], count: int) -> None:
    """Start ``work`` in daemon threads, as many as there can be: the calling thread does what no other one does.

    This is ``_thread`` because it was measured a third faster: ``threading.Thread`` starts no second thread before the
    first one runs. With a hundred branches that is a hundred switches there and back.
    """
    with suppress(RuntimeError, MemoryError):  # a limit of processes or memory
        for _ in range(count):
            _thread.start_new_thread(work, ())


class _Schedule:
    """A scheduler that starts tasks in declaration order, each when the tasks it waits for are done."""

    def __init__(
        self,
        count: int,
        task: Task,
        waits: Sequence[Sequence[int]],
        after: Sequence[frozenset[int]],
        *,
        on_fault: Callable[[], None],
    ) -> None:
        self.results: list[Signal | None] = [None] * count
        self.fault: BaseException | None = None
        self._task = task
        self._on_fault = on_fault
        self._waits = {index: frozenset(before) for index, before in enumerate(waits) if before}
        self._after = after
        self._todo = deque(range(count))
        self._finished: set[int] = set()
        self._running = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        """Run tasks until none is left."""
        while (index := self._take()) is not None:
            try:
                self.results[index] = self._refused(index) or self._task(index)
            except BaseException as fault:
                self.fail(fault)
            finally:
                with self._changed:
                    self._finished.add(index)
                    self._running -= 1
                    self._changed.notify_all()

    def join(self) -> None:
        """Wait until every task that was started has finished."""
        with self._changed:
            while self._running:
                self._changed.wait()

    def fail(self, fault: BaseException) -> None:
        """Start no further task and stop those under way, at once: no work of a branch must outlive the run."""
        with self._changed:
            self.fault = self.fault or fault
            self._todo.clear()
            self._changed.notify_all()
        self._on_fault()

    def _refused(self, index: int) -> Signal | None:
        """Return why a task is not started: one before it is suspended, or one that it comes after did not succeed."""
        found = {signal.rank for before in self._waits.get(index, ()) if (signal := self.results[before]) is not None}
        if Rank.SUSPENDED in found:
            return Signal(rank=Rank.SUSPENDED)
        if self._after and any(self.results[before] is not None for before in self._after[index]):
            return NOT_STARTED
        return None

    def _take(self) -> int | None:
        with self._changed:
            while self._todo:
                for position, index in enumerate(self._todo):
                    if self._waits.get(index, _NONE) <= self._finished:
                        del self._todo[position]
                        self._running += 1
                        return index
                self._changed.wait()
            return None


__all__ = ["run_block", "run_forked", "run_tasks", "serializes", "waits_of"]
