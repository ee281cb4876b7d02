"""Run one list of steps with its bounded jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, StepProblem, StepStatus, Undecided
from gert_core.engine.again import SecretNeeded
from gert_core.engine.flow.frame import Done
from gert_core.engine.signals import Failure, Rank, Signal
from gert_core.engine.steps.execution import StepExecution
from gert_core.template import TemplateError

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.engine.flow.frame import Frame
    from gert_core.engine.run import Run
    from gert_core.engine.steps.compiled import CompiledBlock, Jump
    from gert_core.template import Template


def run_list(run: Run, block: BlockNode, frame: Frame) -> Signal | None:
    """Run a list of steps to its end; return the signal that stopped it before, if one did."""
    plan = run.facts.compiled.block(block)
    frame.layer.enter_list(plan.ids, plan.inside)
    used: dict[int, int] = {}
    steps, position = block.steps, 0
    while position < len(steps):
        step = steps[position]
        done = run_step(run, step, frame)
        if done.signal is not None:
            return done.signal
        try:
            position = _next(run, plan, position, frame, done=done, used=used)
        except StepProblem as problem:
            return _failed(step, frame, problem)
    return None


def run_step(run: Run, step: StepNode, frame: Frame) -> Done:
    """Open a step under its next key and run it, once or per item."""
    compiled = run.facts.compiled.step(step)
    key = frame.open_key(step.id)
    if run.abort is not None and (stopped := run.abort.stops(compiled, frame, key, loop=compiled.over is not None)):
        return Done(status=StepStatus.SKIPPED, signal=stopped)
    if compiled.over is not None:
        from gert_core.engine.flow.for_each import run_items

        return run_items(run, compiled, frame, key)
    return StepExecution(run, compiled, frame, key=key, layer=frame.layer).perform()


def _next(run: Run, plan: CompiledBlock, position: int, frame: Frame, *, done: Done, used: dict[int, int]) -> int:
    """Return the position to continue at; raise ``StepProblem`` when the bound of a jump is invalid."""
    if done.jump is not None:
        return plan.index_of[done.jump]
    jump = plan.jumps.get(position)
    if jump is None or not done.ran or done.maybe:
        return position + 1
    if jump.backward and not run.services.backend.jumps_back:
        return position + 1
    if jump.limit is not None and used.get(position, 0) >= _bound(jump.limit, jump, frame):
        return position + 1
    used[position] = used.get(position, 0) + 1
    if jump.backward:
        _count(plan, jump, frame)
    return jump.index


def _count(plan: CompiledBlock, jump: Jump, frame: Frame) -> None:
    """Count a jump for ``retry_count`` of its target and of its source, unless jumps lead to the source too."""
    frame.layer.count_jump(jump.target)
    if jump.source not in plan.targets:
        frame.layer.count_jump(jump.source)


def _bound(limit: Template, jump: Jump, frame: Frame) -> int:
    """Return how often a jump may be taken; raise ``StepProblem`` when that is not an integer."""
    try:
        value = limit.render(frame.layer)
    except TemplateError:
        value = None
    except SecretNeeded as need:
        message = f"the bound of the jump from {jump.source} to {jump.target} needs secret {need.name}, which is lost"
        raise StepProblem(ErrorKind.SECRET_LOST, message) from None
    except Undecided:  # only a forward jump comes here: it is taken once, whatever its bound turns out to be
        return 1
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise StepProblem(
            ErrorKind.NEXT_BOUND, f"the bound of the jump from {jump.source} to {jump.target} is not an integer"
        )
    return value


def _failed(step: StepNode, frame: Frame, problem: StepProblem) -> Signal:
    """Return the signal of a step that was executed, but after which the list cannot continue."""
    key = f"{frame.prefix}{step.id}"
    failure = Failure(key=key, step_id=step.id, status="error", kind=problem.kind, message=problem.message)
    return Signal(rank=Rank.FAILED, failures=(failure,))


__all__ = ["run_list", "run_step"]
