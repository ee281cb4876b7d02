"""Which step comes next: the walk over one list of steps with its bounded jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import Undecided
from gert_core.engine.signals import Failure, Rank, Signal
from gert_core.engine.steps.compiled import CompiledList, compiled
from gert_core.engine.steps.execution import StepExecution
from gert_core.template import TemplateError

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.engine.flow.frame import Done, Frame
    from gert_core.engine.run import Run
    from gert_core.engine.steps.compiled import Jump


def run_list(run: Run, block: BlockNode, frame: Frame) -> Signal | None:
    """Run a list of steps to its end; a signal says what stopped it before."""
    plan = run.lists.get(id(block))
    if plan is None:
        plan = run.lists[id(block)] = CompiledList(block)
    frame.layer.enter_list(plan.ids)
    used: dict[int, int] = {}
    steps, position = block.steps, 0
    while position < len(steps):
        step = steps[position]
        done = run_step(run, step, frame)
        if done.signal is not None:
            return done.signal
        position = _next(run, plan, position, frame, done=done, used=used)
        if position < 0:
            return _bad_bound(step, plan.jumps[-position - 1], frame)
    return None


def run_step(run: Run, step: StepNode, frame: Frame) -> Done:
    """Open a step under its next key and run it, once or per item."""
    unit = compiled(step, run.runbook)
    key = frame.open_key(step.id)
    if unit.over is not None:
        from gert_core.engine.flow.for_each import run_items

        return run_items(run, unit, frame, key)
    return StepExecution(run, unit, frame, key=key, layer=frame.layer).perform()


def _next(run: Run, plan: CompiledList, position: int, frame: Frame, *, done: Done, used: dict[int, int]) -> int:
    """The position to go on at; ``-n-1`` when the bound of step n's jump cannot be read."""
    if done.jump is not None:
        return plan.index_of[done.jump]
    jump = plan.jumps.get(position)
    if jump is None or not done.ran or done.maybe:
        return position + 1
    if jump.backward and not run.backend.jumps_back:
        return position + 1
    if jump.limit is not None:
        limit = _bound(jump.limit, frame)
        if limit is None:
            return -position - 1
        if used.get(position, 0) >= limit:
            return position + 1
    used[position] = used.get(position, 0) + 1
    if jump.backward:
        _count(plan, jump, plan.ids[position], frame)
    return jump.index


def _count(plan: CompiledList, jump: Jump, source: str, frame: Frame) -> None:
    """``retry_count`` counts jumps to a step or, for a step no jump leads to, jumps by it."""
    frame.layer.count_jump(jump.target)
    if source not in plan.targets:
        frame.layer.count_jump(source)


def _bound(limit: Any, frame: Frame) -> int | None:
    try:
        value = limit.render(frame.layer)
    except TemplateError:
        return None
    except Undecided:  # only a forward jump comes here: it is taken once, whatever its bound turns out to be
        return 1
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _bad_bound(step: StepNode, jump: Jump, frame: Frame) -> Signal:
    failure = Failure(
        key=f"{frame.prefix}{step.id}",
        step_id=step.id,
        status="error",
        kind="next_bound",
        message=f"the bound of the jump from {step.id} to {jump.target} is not a whole number",
    )
    return Signal(rank=Rank.FAILED, failures=(failure,))


__all__ = ["run_list", "run_step"]
