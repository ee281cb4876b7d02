"""The backend of probes: steps that write nothing and have only allowed effects are executed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, Undecided
from gert_core.contracts import probe_refusal
from gert_core.engine.modes.deciding import decide_by_provider
from gert_core.engine.modes.explore import symbolic_result
from gert_core.engine.modes.questions import ask_person
from gert_core.engine.modes.real import attach_file, call_tool, open_session, wait
from gert_core.engine.steps.outputs import report_violations

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


class ProbeBackend:
    """The probe: steps that change nothing are executed, after required approvals; deterministic tools run twice."""

    sequential = True
    symbolic = True
    enforces = True
    acts = True
    jumps_back = False
    repeats = True

    def __init__(self, effects: frozenset[str]) -> None:
        self.effects = effects

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
        """Return whether the step writes nothing, every effect of it is allowed, and it demands no approval itself."""
        return not self._refusal(execution)

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return symbols for the outputs of a step that is not executed."""
        refusal = self._refusal(execution)
        return symbolic_result(execution, reason=f"probe: {refusal}") if refusal else None

    def _refusal(self, execution: StepExecution) -> str:
        return probe_refusal(execution.contract, self.effects, gated=execution.gate is not None)

    def decide_approval(
        self, execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
    ) -> ApprovalDecision:
        """Request a decision from the run's approval provider."""
        return decide_by_provider(execution, request, recorded)

    def step_seconds(self, began: float) -> float:
        """Return the seconds that have passed."""
        return time.perf_counter() - began

    def now(self, execution: StepExecution) -> datetime:
        """Return the time of day."""
        return execution.services.stop.time.now()

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Wait, cancellable; a step with blocks waits for what the steps that were not run would bring about."""
        if not execution.compiled.leaf:
            raise Undecided("what happens during the wait")
        wait(execution, seconds)

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Call the tool; one that is declared deterministic is called again and compared."""
        first = call_tool(execution, tool, action, inputs)
        if tool.contracts[action].deterministic:
            second = call_tool(execution, tool, action, inputs)
            if first.outputs != second.outputs or first.exit_code != second.exit_code:
                message = "declared deterministic, but two calls with the same inputs gave different outputs"
                report_violations(execution, [(ErrorKind.NONDETERMINISTIC, message, "error")])
        return first

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Return the peer, opened on first use."""
        return open_session(execution, name, open)

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Ask the person at the terminal."""
        return ask_person(execution, question)

    def attach(self, execution: StepExecution, path: str) -> Mapping[str, object]:
        """Copy the file into the run directory."""
        return attach_file(execution, path)


__all__ = ["ProbeBackend"]
