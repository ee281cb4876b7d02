"""The backend of dry-runs: nothing outside the run is touched, and unknown values are symbols."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, StepProblem, Undecided
from gert_core.engine.modes.explore import symbolic_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gert_core.api import Answer, ApprovalRequest, Question, Reply, Result, Services
    from gert_core.api.context import Peer
    from gert_core.approvals import ApprovalDecision
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution


class DryRunBackend:
    """The dry-run: only steps with a pure contract are executed, without programs and without questions."""

    sequential = True
    symbolic = True
    enforces = False
    acts = False
    jumps_back = False
    repeats = False

    def __init__(self) -> None:
        self._clock: datetime | None = None

    def seed(self, run: Run) -> str:
        """Return the run id."""
        return run.facts.run_id

    def remarks(self, run: Run) -> list[str]:
        """Return nothing."""
        return []

    def run_seconds(self, seconds: float) -> float:
        """Return the seconds as they are."""
        return seconds

    def will_execute(self, execution: StepExecution) -> bool:
        """Return whether the step touches nothing and demands no approval."""
        return execution.gate is None and execution.contract.pure

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return symbols for the outputs of a step that is not executed."""
        return None if self.will_execute(execution) else symbolic_result(execution, reason="dry-run")

    def decide_approval(
        self, execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
    ) -> ApprovalDecision:
        """Refuse: a dry-run stops before approvals."""
        raise StepProblem(ErrorKind.APPROVAL_PROVIDER, "a dry-run requests no approval")

    def step_seconds(self, began: float) -> float:
        """Return the seconds that have passed."""
        return time.perf_counter() - began

    def now(self, execution: StepExecution) -> datetime:
        """Return the logical time, which begins at the time of day and passes by looking at it and by sleeping."""
        before = self._clock or execution.services.stop.time.now()
        self._clock = before + timedelta(milliseconds=1)
        return before

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Move the logical clock."""
        self._clock = self.now(execution) + timedelta(seconds=seconds)

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Raise ``Undecided``: a pure tool is a process too."""
        raise Undecided(f"what {tool.name} {action} answers")

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Raise ``Undecided``: no peer is started."""
        raise Undecided(f"what {name} answers")

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Raise ``Undecided``: no question is asked."""
        raise Undecided(question.name)

    def attach(self, execution: StepExecution, path: str) -> Mapping[str, object]:
        """Raise ``Undecided``: no file is read."""
        raise Undecided(f"the file {path}")


__all__ = ["DryRunBackend"]
