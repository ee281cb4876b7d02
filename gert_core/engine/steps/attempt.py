"""One attempt of a step: call its type's ``run``, or take the backend's result; always with a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import (
    Completed,
    Ended,
    Errored,
    ErrorKind,
    Failed,
    Flow,
    GertError,
    RunError,
    StepProblem,
    TraceError,
    Undecided,
)
from gert_core.engine.signals import CANCELLED, Unwind
from gert_core.engine.steps.context import AttemptContext
from gert_core.template import TemplateError
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Result
    from gert_core.documents.tree import BlockNode
    from gert_core.engine.steps.execution import StepExecution


def attempt(execution: StepExecution) -> Result | None:
    """Return the backend's result, or that of the type's ``run``; None when there is a signal."""
    run, compiled = execution.run, execution.compiled
    if compiled.leaf:
        substitute = run.services.backend.substitute(execution)
        if substitute is not None:
            return substitute
    if execution.undecided is not None and compiled.type.flow is not Flow.TERMINAL:
        return _explore(execution, execution.undecided)
    if execution.deadline.expired:  # nothing is started after the deadline of the block
        return _timed_out(execution)
    if compiled.leaf and run.services.backend.acts and not compiled.contract.pure:
        # A type may act in ``run`` itself. Its calls of the context find everything on disk and sync nothing again.
        run.services.journal.sync()
    context = AttemptContext(execution)
    try:
        result: Result = compiled.run(execution.step, context)
    except Unwind:
        return None
    except StepProblem as problem:
        if execution.deadline.cancelled:
            execution.signals.add([CANCELLED])
            return None
        kind = Failed if problem.failed else Errored
        return kind(kind=problem.kind, message=problem.message, detail=problem.detail)
    except Undecided as undecided:
        return _explore(execution, undecided, ran=context.ran)
    except TemplateError as error:
        return Errored(kind=ErrorKind.TEMPLATE, message=error.message)
    except (TraceError, RunError):
        raise
    except GertError as error:
        return Errored(kind=error.kind, message=error.message)
    except Exception as error:  # an error in a plugin must not end the run with a traceback
        run.note_fault(error)
        text = f"{compiled.type.name} step raised an exception in its plugin: {type(error).__name__}: {error}"
        return Errored(kind=ErrorKind.PLUGIN_FAILED, message=text)
    finally:
        context.shut()
        if context.fault is not None:  # whatever the step type made of it
            raise context.fault
    if execution.signals.worst is not None:
        return None
    # A step that finished although the run was cancelled keeps its result: the list stops at the next step.
    if execution.deadline.expired and not execution.deadline.cancelled:
        return _timed_out(execution)
    return _checked(execution, result)


def _timed_out(execution: StepExecution) -> Result:
    """Return the error of a step whose deadline has passed."""
    own = execution.compiled.timeout
    message = f"took longer than {format_duration(own)}" if own is not None else "the deadline of its block passed"
    return Errored(kind=ErrorKind.TIMEOUT, message=message)


def _explore(execution: StepExecution, undecided: Undecided, *, ran: Sequence[BlockNode] = ()) -> Result | None:
    """Continue without a value known only in a real run; imported on use, for dry-run and probe only."""
    from gert_core.engine.modes.explore import explore

    return explore(execution, undecided, ran=ran)


def _checked(execution: StepExecution, result: Result) -> Result:
    """Return a type's result if it is one of the four kinds and allowed for its flow; else an error."""
    name = execution.compiled.type.name
    if isinstance(result, Ended) and execution.compiled.type.flow is not Flow.TERMINAL:
        return Errored(kind=ErrorKind.PLUGIN_FAILED, message=f"{name} ended the run but is not a terminal step type")
    if not isinstance(result, Completed | Failed | Errored | Ended):
        return Errored(kind=ErrorKind.PLUGIN_FAILED, message=f"{name} returned {type(result).__name__}, not a result")
    return result


__all__ = ["attempt"]
