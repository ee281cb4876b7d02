"""Approvals that steps demand by themselves and that people have not given: no changed runbook leaves them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, EventType, RunError, StepStatus
from gert_core.api.steps import Flow
from gert_core.governance.gates import STEP

if TYPE_CHECKING:
    from gert_core.api import TraceEvent
    from gert_core.engine.steps.execution import StepExecution

OPEN: Final = "waits for approval"
REJECTED: Final = "was rejected"


class OpenGates:
    """The steps of a recorded run that demanded an approval, by key, with what became of it: open or rejected."""

    def __init__(self) -> None:
        self.changed = False
        """Whether documents changed since the run began, which was allowed."""
        self._found: dict[str, str] = {}

    def take(self, event: TraceEvent, key: str) -> None:
        """Take note of an event of a step."""
        if _demands(event):
            self._found[key] = OPEN
        elif key not in self._found:
            return
        elif event.type == EventType.APPROVAL_RESOLVED and not event.data.get("approved"):
            self._found[key] = REJECTED
        elif event.type == EventType.STEP_COMPLETE and event.data.get("status") != StepStatus.SKIPPED:
            del self._found[key]

    def ends_the_run(self, key: str) -> bool:
        """Return whether the run ends without the approval, because a changed step cannot say that it goes on then."""
        return self.changed and key in self._found

    def refuse_dropped(self, execution: StepExecution) -> None:
        """Raise ``RunError`` for a step of a changed runbook that would run in place of an approval, or behind it.

        The runbook was changed after people were asked: the question was taken away, is skipped, or comes later now.
        """
        state = execution.services.journal.state
        if execution.key in state.steps or execution.key in state.void:
            return  # it was opened before the runbook was changed
        for gate, what in self._found.items():
            if execution.key == gate or gate.startswith(f"{execution.key}/"):
                continue
            if what == REJECTED and execution.compiled.node.in_cleanup:
                continue
            record = state.steps.get(gate)
            given = record is not None and record.status in (StepStatus.SUCCESS, StepStatus.FAILED)
            if not given and not _beside(execution, gate):
                raise RunError(
                    f"step {execution.key} would run without the approval of step {gate}, which {what}",
                    kind=ErrorKind.DRIFT,
                    hint="an approval that was asked for cannot be taken out of a run; start a new run",
                )


def _demands(event: TraceEvent) -> bool:
    """Return whether an event is the decision of a step that demands its approval, or a request with its message."""
    if event.type == EventType.APPROVAL_SUBMITTED:
        request = event.data.get("request")
        return isinstance(request, dict) and request.get("message") is not None
    return event.type == EventType.GOVERNANCE_DECISION and event.data.get("source") == STEP


def _beside(execution: StepExecution, gate: str) -> bool:
    """Return whether a step and a gate are in different branches of one step, or in different items of a loop."""
    mine, other = execution.key.split("/"), gate.split("/")
    at = next((n for n, (one, two) in enumerate(zip(mine, other, strict=False)) if one != two), 0)
    if not mine[at].isdigit():
        return "[" in mine[at] and mine[at].partition("[")[0] == other[at].partition("[")[0]
    around = execution.run.top.facts.runbook.find("/".join(mine[:at]))
    return around is not None and around[1].type.flow is Flow.ALL_OF


__all__ = ["OpenGates"]
