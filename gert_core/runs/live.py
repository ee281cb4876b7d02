"""Fold the state of a run while its own process writes the events."""

from __future__ import annotations

from datetime import UTC, datetime
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.events import EventType, TraceEvent
from gert_core.api.results import RunStatus, StepStatus
from gert_core.runs.fold import Fold, failure_of
from gert_core.runs.state import StepState, parent_key
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.runs.state import RunState

    Take = Callable[[str, Any, Mapping[str, Any], int], None]

ORDERED: Final = (
    EventType.RUN_START,
    EventType.INPUT_RESOLVED,
    EventType.RUN_COMPLETE,
    EventType.RUN_SUSPENDED,
    EventType.RUN_RESUMED,
    EventType.APPROVAL_SUBMITTED,
    EventType.APPROVAL_RESPONSE,
    EventType.APPROVAL_RESOLVED,
    EventType.APPROVAL_VOID,
    EventType.STEP_ATTEMPT,
    EventType.QUESTION_ASKED,
    EventType.QUESTION_ANSWERED,
    EventType.PAUSE_REQUESTED,
    EventType.OUTCOME_RESOLVED,
    EventType.CONTRACT_VIOLATION,
    EventType.RUN_SUMMARY,
    EventType.INPUT_RESOLVED,
)
"""Events that go through the fold as a reader's would, and in the same order; they are rare."""
_RUNNING: Final = str(RunStatus.RUNNING)
_STATUSES: Final = {str(status): str(status) for status in StepStatus}
"""One text for all steps of a status."""
_SUCCESS: Final = _STATUSES[StepStatus.SUCCESS]


class LiveFold:
    """The fold of a run that is being executed, fed with masked data.

    Of a step it keeps what a result shows: id, type, status, failure, order and whether it is shown. Contracts, inputs,
    outputs and the details of leaves stay in the trace; keeping them would keep the whole run in memory.
    """

    __slots__ = ("_fold", "_run_id", "_steps", "state", "takes")

    def __init__(self, run_id: str, state: RunState | None = None) -> None:
        self._fold = Fold(state)
        self._run_id = run_id
        self.state = self._fold.state
        self._steps = self.state.steps
        self.takes: dict[str, Take] = {
            EventType.STEP_START: self._step_start,
            EventType.STEP_COMPLETE: self._step_complete,
            **dict.fromkeys(ORDERED, self._feed),
        }
        """What to call with type, step key, data and number of an event that was written, by its type."""

    def _feed(self, type: str, key: str | None, data: Mapping[str, object], seq: int) -> None:  # noqa: A002 - event field
        now = timestamp(datetime.now(UTC))
        self._fold.feed(
            TraceEvent(type=type, timestamp=now, run_id=self._run_id, seq=seq, prev_hash="", data=data, step_key=key)
        )

    def _step_start(self, _: str, key: str, data: Mapping[str, Any], __: int) -> None:
        record = self._steps.get(key)
        if record is None:
            record = StepState(key=key, step_id=data["step_id"], type=data["type"], status=_RUNNING)
            self._add(record)
        else:
            record.status, record.type = _RUNNING, data["type"]
        if "quiet" in data:
            record.quiet = True

    def _step_complete(self, _: str, key: str, data: Mapping[str, Any], seq: int) -> None:
        record = self._steps.get(key)
        if record is None:
            record = StepState(key=key, step_id=data["step_id"])
            self._add(record)
        record.status = _STATUSES.get(data["status"], data["status"])
        record.ended = seq
        record.duration = intern(data["duration"])
        if "waited" in data:
            record.waited = data["waited"]
        if record.status is not _SUCCESS:
            record.failure = failure_of(data)
            record.detail = data.get("detail") if record.container and record.failed else None
        if not record.type:  # it never started, so its end names the type
            record.type = data.get("type", "")

    def _add(self, record: StepState) -> None:
        key = record.key
        self._steps[key] = record
        if "/" in key or key[-1] == "]":
            parent = self._steps.get(parent_key(key))
            if parent is not None:
                parent.container = True


__all__ = ["ORDERED", "LiveFold"]
