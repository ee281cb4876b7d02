"""The clock of a step: times that a step with blocks reads are recorded, and a resumed run gets the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gert_core.api.events import EventType
from gert_core.engine.signals import Unwind
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.steps.execution import StepExecution


class Clock:
    """The clock of one execution.

    A step with blocks is entered again on resume and must make the same decisions, so the times it has read are in
    the trace. A leaf is recorded as a whole and reads the current time.
    """

    __slots__ = ("_execution", "_looks", "_sleeps", "_went_on", "interrupted")

    def __init__(self, execution: StepExecution) -> None:
        self._execution = execution
        self._looks = 0
        self._sleeps = 0
        self._went_on = not execution.compiled.leaf and self._recorded(EventType.STEP_START, 0) is not None
        """Whether an earlier process began the step, and this one has read no time of its own."""
        self.interrupted = False
        """Whether the time that was read last is the first one of a process that went on with the step."""

    def now(self) -> datetime:
        """Return the time of day, or the time that an earlier process of the run read here."""
        execution = self._execution
        if execution.compiled.leaf:
            return execution.services.backend.now(execution)
        number, self._looks = self._looks, self._looks + 1
        before = self._recorded(EventType.TIME_READ, number)
        if before is not None:
            self.interrupted = before.get("interrupted") is True
            return datetime.fromisoformat(str(before["time"]))
        now = execution.services.backend.now(execution)
        data: dict[str, object] = {"step_id": execution.compiled.id, "time": timestamp(now)}
        self.interrupted, self._went_on = self._went_on, False
        if self.interrupted:
            data["interrupted"] = True
        execution.add(EventType.TIME_READ, data, fresh=True)
        return now

    def sleep(self, seconds: float) -> None:
        """Wait; a wait that an earlier process began ends at its original time."""
        execution = self._execution
        backend = execution.services.backend
        if not execution.compiled.leaf:
            number, self._sleeps = self._sleeps, self._sleeps + 1
            abort = execution.run.abort
            if abort is not None and (stopped := abort.stops_waiting(execution, number)):
                execution.signals.add([stopped])
                raise Unwind
            before = self._recorded(EventType.SLEEP_START, number)
            if before is not None:
                until = datetime.fromisoformat(str(before["until"]))
                seconds = min(seconds, (until - backend.now(execution)).total_seconds())
            else:
                until = backend.now(execution) + timedelta(seconds=seconds)
                data = {"step_id": execution.compiled.id, "seconds": seconds, "until": timestamp(until)}
                execution.add(EventType.SLEEP_START, data, fresh=True)
                execution.services.journal.commit()
        elif backend.acts:  # what is written of the step so far is known while it waits
            execution.services.journal.commit()
        backend.sleep(execution, max(0.0, seconds))

    def _recorded(self, type: str, number: int) -> Mapping[str, object] | None:  # noqa: A002 - the event's field name
        recorded = self._execution.services.recorded
        return None if recorded is None else recorded.event(self._execution.key, type, number)


__all__ = ["Clock"]
