"""End a loop over items early: ask its ``until`` after an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, StepProblem
from gert_core.engine.again import SecretNeeded
from gert_core.engine.signals import Failure, Rank, Signal

if TYPE_CHECKING:
    from gert_core.engine.flow.frame import Done
    from gert_core.engine.flow.items import SortedOut
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.template import Condition, TemplateError


def is_enough(until: Condition, done: Done, item: StepExecution, so_far: SortedOut) -> bool:
    """Return whether the loop ends after an item, whose own results and steps are in view, and how items came out."""
    layer, compiled = item.layer, item.compiled
    if compiled.leaf and done.ran:
        layer.promote(compiled.id, done.outputs)
    layer.set_step(compiled.id, {**done.fields, **done.outputs}, item.status(done.status), **so_far.facts(compiled.id))
    try:
        return until.test(layer)
    except SecretNeeded as need:
        from gert_core.engine.resume.lost import was_last

        return was_last(item, need)


def unanswerable(item: StepExecution, error: TemplateError | SecretNeeded) -> Signal:
    """Return the signal of a loop whose ``until`` cannot be evaluated, or not before a lost secret is given again."""
    kind, message = str(ErrorKind.TEMPLATE), str(error)
    if isinstance(error, SecretNeeded):
        from gert_core.engine.resume.lost import give_again, loop_of

        try:
            return give_again(item.run, error, by=loop_of(item.key))
        except StepProblem as problem:
            kind, message = problem.kind, problem.message
    failure = Failure(
        key=item.key, step_id=item.compiled.id, status="error", kind=kind, message=f"for_each.until: {message}"
    )
    return Signal(rank=Rank.FAILED, failures=(failure,))


__all__ = ["is_enough", "unanswerable"]
