"""Replay a scenario and observe everything that two replays, or a run and its replay, are compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api import ErrorKind, StepProblem
from gert_core.engine.modes.replay import ReplayBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import Answer, ApprovalRequest, Outcome, Question, Reply, Result, Services
    from gert_core.api.context import Peer
    from gert_core.approvals import ApprovalDecision
    from gert_core.documents.scenario import ScenarioModel
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.runs.result import RunResult
    from gert_core.scenarios.visits import Visits


class StepSeen(Struct, frozen=True):
    """How a step ended in a replay, with its values as they are."""

    status: str
    data: Mapping[str, Any]


class Seen(Struct, frozen=True, kw_only=True):
    """What a replay came to; values are as the scenario has them, not masked."""

    status: str
    outcome: Outcome | None
    statuses: Mapping[str, str]
    """By step key its status, of every step that was visited."""
    outputs: Mapping[str, Any]
    decisions: Mapping[str, str]
    visits: Visits
    steps: Mapping[str, StepSeen] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    """What the scenario does not have, in words."""
    warnings: tuple[str, ...] = ()
    result: RunResult


class ObservingBackend(ReplayBackend):
    """A replay that notes what policies decided, and what the scenario does not have."""

    def __init__(self, scenario: ScenarioModel) -> None:
        super().__init__(scenario)
        self.decisions: dict[str, str] = {}
        self.missed: list[str] = []

    def substitute(self, execution: StepExecution) -> Result | None:
        """Note the decision about the step."""
        self._note(execution)
        return super().substitute(execution)

    def decide_approval(
        self, execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
    ) -> ApprovalDecision:
        """Note the decision about a step that may not be approved."""
        self._note(execution)
        return super().decide_approval(execution, request, recorded)

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Note a response that is missing."""
        try:
            return super().call_tool(execution, tool, action, inputs)
        except StepProblem as problem:
            if problem.kind == ErrorKind.SCENARIO_MISS:
                self.missed.append(f"a response for {tool.name}:{action}")
            raise

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Note a result that is missing."""
        self.missed.append(f"a result for step {execution.key}")
        return super().session(execution, name, open)

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Note evidence that is missing."""
        from gert_core.api import NoAnswer

        try:
            return super().ask(execution, question)
        except NoAnswer:
            self.missed.append(f"evidence {question.name} for step {execution.key}")
            raise

    def _note(self, execution: StepExecution) -> None:
        if execution.decision is not None:
            self.decisions[execution.key] = str(execution.decision.action)


__all__ = ["ObservingBackend", "Seen", "StepSeen"]
