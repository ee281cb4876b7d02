"""End a resumed run for good: no further step runs but those of cleanup that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, EventType
from gert_core.engine.signals import Failure, Rank, Signal
from gert_core.engine.state import RUNNING

if TYPE_CHECKING:
    from gert_core.engine.flow.frame import Frame
    from gert_core.engine.resume.plan import Resumption
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.engine.steps.compiled import CompiledStep
    from gert_core.engine.steps.execution import StepExecution

MESSAGE: Final = "the run was aborted"


class Abort:
    """The decision which steps of an aborted run are still entered.

    Those are the steps of cleanup, steps with a recorded result, and steps with blocks that had begun, because cleanup
    inside them may be open.
    """

    __slots__ = ("_recorded", "_stated")

    def __init__(self, recorded: Recorded, resumption: Resumption) -> None:
        self._recorded = recorded
        self._stated = frozenset(resumption.results)

    def stops(self, compiled: CompiledStep, frame: Frame, key: str, *, loop: bool = False) -> Signal | None:
        """Return the signal of a step that is not entered; None for one that is."""
        if frame.cleanup:
            return None
        begun = EventType.STEP_COMPLETE if compiled.leaf and not loop else EventType.STEP_START
        if key in self._stated or self._recorded.event(key, begun, 0) is not None:
            return None
        if self._recorded.event(key, EventType.STEP_START, 0) is not None:
            frame.layer.set_status(compiled.id, RUNNING)  # it is not known to have ended
        return _stop(compiled, key)

    def stops_waiting(self, execution: StepExecution, number: int) -> Signal | None:
        """Return the signal of a step with blocks that would wait; None when the wait of that number is over.

        It is over when another one followed it, or when the step came to its end before the abort.
        """
        key = execution.key
        if execution.frame.cleanup or self._recorded.event(key, EventType.SLEEP_START, number + 1) is not None:
            return None
        done = self._recorded.event(key, EventType.STEP_COMPLETE, 0)
        failure = (done or {}).get("failure")
        if done is not None and not (isinstance(failure, dict) and failure.get("kind") == ErrorKind.CANCELLED):
            return None
        return _stop(execution.compiled, key)


def _stop(compiled: CompiledStep, key: str) -> Signal:
    failure = Failure(key=key, step_id=compiled.id, status="skipped", kind=ErrorKind.CANCELLED, message=MESSAGE)
    return Signal(rank=Rank.DENIED, failures=(failure,))


def other_failures(signal: Signal | None) -> tuple[Failure, ...]:
    """Return what failed in an aborted run: the steps that it left out did not."""
    failures = signal.ordered if signal is not None else ()
    return tuple(one for one in failures if (one.kind, one.message) != (ErrorKind.CANCELLED, MESSAGE))


__all__ = ["Abort", "other_failures"]
