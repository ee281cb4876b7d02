"""Dry-run and probe: what is not executed stays symbolic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import Undecided
from gert_core.engine.modes.explore import symbolic_result
from gert_core.engine.modes.real import RealBackend
from gert_core.engine.steps.outputs import report_violations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import Answer, Question, Reply, Result, Services
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.steps.execution import StepExecution


class DryRunBackend(RealBackend):
    """Nothing is spawned, nobody is asked; only steps with a pure contract run."""

    sequential = True
    symbolic = True
    enforces = False
    jumps_back = False

    def will_execute(self, execution: StepExecution) -> bool:
        """Only what touches nothing."""
        return execution.compiled.contract.pure

    def canned(self, execution: StepExecution) -> Result | None:
        """What is not executed has symbols for its outputs."""
        if self.will_execute(execution):
            return None
        return symbolic_result(execution, reason=self.reason(execution))

    def reason(self, execution: StepExecution) -> str:
        """Why the step is not executed."""
        return "dry-run"

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Nobody waits."""

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, Any]) -> Reply:
        """A pure tool is still a process: its answer is known only in a real run."""
        raise Undecided(f"what {tool.name} {action} answers")

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Any]) -> Any:  # noqa: A002
        """No peer is started."""
        raise Undecided(f"what {name} answers")

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Nobody is asked."""
        raise Undecided(question.name)


class ProbeBackend(DryRunBackend):
    """Executes what writes nothing and has only allowed effects; deterministic tools run twice."""

    enforces = True

    def __init__(self, effects: frozenset[str]) -> None:
        self.effects = effects

    def will_execute(self, execution: StepExecution) -> bool:
        """No writes, and every effect is on the allow-list."""
        contract = execution.compiled.contract
        return not contract.writing and set(contract.effects) <= self.effects

    def reason(self, execution: StepExecution) -> str:
        """Why the probe leaves the step out."""
        contract = execution.compiled.contract
        if contract.writing:
            return "probe: it writes"
        return "probe: effects " + ", ".join(sorted(set(contract.effects) - self.effects)) + " are not allowed"

    sleep = RealBackend.sleep
    session = RealBackend.session
    ask = RealBackend.ask

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, Any]) -> Reply:
        """Call it; a tool that says it is deterministic is called again and compared."""
        first = RealBackend.call_tool(self, execution, tool, action, inputs)
        if tool.contracts[action].deterministic:
            second = RealBackend.call_tool(self, execution, tool, action, inputs)
            if first.outputs != second.outputs or first.exit_code != second.exit_code:
                message = "declared deterministic, but two calls with the same inputs gave different outputs"
                report_violations(execution, [("nondeterministic", message, "error")])
        return first


__all__ = ["DryRunBackend", "ProbeBackend"]
