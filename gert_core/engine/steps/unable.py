"""Close a step that was opened and cannot be executed, or leave it open until a lost secret is given again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import EventType, StepProblem, StepStatus
from gert_core.engine.flow.frame import Done
from gert_core.engine.steps.close import finish

if TYPE_CHECKING:
    from gert_core.engine.again import SecretNeeded
    from gert_core.engine.steps.execution import StepExecution


def postponed(execution: StepExecution, need: SecretNeeded) -> Done:
    """Leave a step that needs a lost secret until the step that gives it has run again, or close it."""
    recorded = execution.services.recorded
    begun = recorded is not None and recorded.event(execution.key, EventType.STEP_START, 0) is not None
    return unable(execution, need, begun=begun)


def unable(execution: StepExecution, problem: StepProblem | SecretNeeded, *, begun: bool = True) -> Done:
    """Return how the list continues after a step that is not executed; ``begun`` if the trace has its start."""
    if not isinstance(problem, StepProblem):
        from gert_core.engine.resume.lost import give_again

        try:
            signal = give_again(execution.run, problem, by=execution.key)
        except StepProblem as lost:
            problem = lost
        else:
            execution.services.progress.left_open(execution.info, cancelled=False)
            return Done(status=StepStatus.SKIPPED, signal=signal)
    if not begun:
        execution.start(acting=False)
    data: dict[str, object] = {"failure": {"kind": problem.kind, "message": problem.message}}
    if execution.compiled.leaf and execution.compiled.over is None:
        data["started"] = False
    return finish(execution, StepStatus.ERROR, data)


__all__ = ["postponed", "unable"]
