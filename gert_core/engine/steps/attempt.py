"""One attempt of a step: call its type's ``run``, or take the backend's result; always with a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import (
    Completed,
    Errored,
    ErrorKind,
    Failed,
    Flow,
    GertError,
    StepProblem,
    Undecided,
)
from gert_core.engine.again import SecretNeeded
from gert_core.engine.signals import CANCELLED, Rank, Unwind
from gert_core.engine.steps.attempts import add_attempt, add_cancelled
from gert_core.engine.steps.context import AttemptContext
from gert_core.engine.steps.results import checked, type_fault
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.printing import here
from gert_core.template import TemplateError
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Result
    from gert_core.engine.steps.execution import StepExecution


_TOLD: Final = (Rank.FAILED, Rank.DENIED)
"""The ranks of signals after which a step tells how its blocks came out."""


def attempt(execution: StepExecution) -> Result | None:
    """Return the backend's result, or that of the type's ``run``.

    When there is a signal: None, or if a block failed or was denied, a result that tells how the blocks came out. The
    peers of an approved step end with the attempt.
    """
    if not execution.under_approval:
        return _attempt(execution)
    try:
        return _attempt(execution)
    finally:
        execution.services.sessions.leave(execution.key)


def _attempt(execution: StepExecution) -> Result | None:
    run, compiled = execution.run, execution.compiled
    if compiled.leaf:
        substitute = run.services.backend.substitute(execution)
        if substitute is not None:
            execution.substituted = True
            return substitute
    if execution.undecided is not None and compiled.type.flow is not Flow.TERMINAL:
        return _explore(execution, execution.undecided)
    if execution.deadline.expired:  # nothing is started after the deadline of the block
        return _timed_out(execution, acted=False)
    # What is pure and neither has a tool nor declares a contract of its own starts no program.
    children = run.services.children if compiled.leaf and (compiled.external or not compiled.pure) else None
    if compiled.leaf and run.services.backend.acts:
        if not (execution.contract.pure if execution.rendered_levels else compiled.pure):
            # A type may act in ``run`` itself. Its calls of the context find everything on disk and sync nothing again.
            run.services.journal.sync()
        elif run.services.journal.observed:  # it may take long to think
            run.services.journal.commit()
    context = AttemptContext(execution)
    raised: BaseException | None = None
    before, here.inside = here.inside, True
    if children is not None:
        children.begin(execution.key)
    try:
        result: Result = compiled.run(execution.step, context)
    except BaseException as error:  # nothing that a plugin does may end the run without a result
        pass_on(error)
        raised = error
    finally:
        here.inside = before
        context.shut()
        if children is not None:
            children.leave()
    if context.fault is not None:  # whatever the step type made of it
        raise context.fault
    if raised is not None:
        return _failure(execution, raised, context)
    worst = execution.signals.worst
    if worst is not None:  # of what the type returns, a failed step keeps the fields and the detail
        return result if worst.rank in _TOLD and isinstance(result, Completed) and result.fields else None
    # A step that finished although the run was cancelled keeps its result: the list stops at the next step.
    # After cleanup the deadline means nothing: it was that of the blocks before, whose steps have kept to it.
    late = execution.deadline.expired and context.cleanup is None
    if late and not (execution.deadline.cancelled or execution.read_late):
        return _timed_out(execution)
    return checked(execution, result)


def _failure(execution: StepExecution, error: BaseException, context: AttemptContext) -> Result | None:
    """Return the result of a step whose type raised an exception; None when there is a signal."""
    if isinstance(error, Unwind):
        return None
    if isinstance(error, StepProblem):
        # Only a type that uses a tool acts through its calls alone.
        acted = error.acted or execution.acted or execution.compiled.use is None
        if execution.deadline.cancelled:
            if not acted:
                add_attempt(execution, "not_started")
            elif error.detail.get("stdout") or error.detail.get("stderr"):
                add_cancelled(execution, error.detail)
            execution.signals.add([CANCELLED])
            return None
        if error.failed:
            return checked(
                execution,
                Failed(
                    kind=error.kind,
                    message=error.message,
                    fields=_known_fields(execution, error.detail),
                    detail=error.detail,
                    retryable=error.retryable,
                ),
            )
        return checked(
            execution,
            Errored(
                kind=error.kind,
                message=error.message,
                fields=_known_fields(execution, error.detail),
                detail=error.detail,
                acted=acted,
                retryable=error.retryable,
            ),
        )
    if isinstance(error, SecretNeeded):
        return _needed(execution, error)
    if isinstance(error, Undecided):
        return _explore(execution, error, context)
    if isinstance(error, TemplateError):
        return Errored(kind=ErrorKind.TEMPLATE, message=error.message)
    execution.run.note_fault(error)
    fault = type_fault(execution, "run", error)
    # An error of the trace stays: the writer raises it again when the step is closed.
    return Errored(kind=error.kind if isinstance(error, GertError) else fault.kind, message=fault.message)


def _known_fields(execution: StepExecution, detail: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of the step's type that are known of a call although it failed, such as the exit code."""
    return {name: detail[name] for name in execution.compiled.type.fields if detail.get(name) is not None}


def _needed(execution: StepExecution, need: SecretNeeded) -> Result | None:
    """Leave a step open that reads a lost secret while it runs; one that cannot run again then is an error."""
    from gert_core.engine.resume.lost import give_again

    try:
        late = execution.compiled.leaf and not execution.contract.repeatable
        signal = give_again(execution.run, need, by=execution.key, late=late)
    except StepProblem as problem:
        return Errored(kind=problem.kind, message=problem.message, acted=execution.acted)
    execution.signals.add([signal])
    return None


def _timed_out(execution: StepExecution, *, acted: bool = True) -> Result:
    """Return the error of a step whose deadline has passed."""
    own = execution.compiled.timeout
    message = f"took longer than {format_duration(own)}" if own is not None else "the deadline of its block passed"
    return Errored(kind=ErrorKind.TIMEOUT, message=message, acted=acted)


def _explore(execution: StepExecution, undecided: Undecided, context: AttemptContext | None = None) -> Result | None:
    """Continue without a value known only in a real run; imported on use, for dry-run and probe only."""
    from gert_core.engine.modes.explore import explore

    execution.substituted = execution.compiled.leaf
    if context is None:
        return explore(execution, undecided)
    return explore(execution, undecided, ran=context.ran, ended=context.may_end)


__all__ = ["attempt"]
