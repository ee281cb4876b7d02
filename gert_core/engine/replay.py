"""Replay: a scenario stands in for tools, people and time, the same way every time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import (
    Answer,
    Completed,
    Errored,
    Failed,
    NoAnswer,
    Principal,
    Reply,
    StepProblem,
)
from gert_core.engine.world import RealWorld
from gert_core.tools import extract, preview

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import ApprovalRequest, Question, Result, Services
    from gert_core.approvals import Settled
    from gert_core.documents.scenario import ScenarioModel
    from gert_core.documents.tree import Runbook, ToolNode
    from gert_core.engine.phases import Execution

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


class Replay(RealWorld):
    """Answers come from the scenario; a question it does not answer is an error."""

    sequential = True

    def __init__(self, scenario: ScenarioModel) -> None:
        self._scenario = scenario
        self._cursors = dict.fromkeys(scenario.tool_responses, 0)
        self._used_steps: set[str] = set()
        self._used_evidence: set[tuple[str, str]] = set()
        self._approvals = dict.fromkeys(scenario.approvals, 0)
        self._clock = EPOCH

    def canned(self, execution: Execution) -> Result | None:
        """A result written down for this very execution wins over everything."""
        given = self._scenario.steps.get(execution.key)
        if given is None:
            return None
        self._used_steps.add(execution.key)
        message = given.message or f"the scenario says {given.status}"
        if given.status == "failed":
            return Failed(
                kind=given.kind or "canned", message=message, outputs=given.outputs, fields=given.fields
            )
        if given.status == "error":
            return Errored(kind=given.kind or "canned", message=message, fields=given.fields)
        return Completed(outputs=given.outputs, fields=given.fields)

    def elapsed(self, began: float) -> float:
        """Steps of a replay take no time."""
        return 0.0

    def elapsed_run(self, seconds: float) -> float:
        """Neither does the replay as a whole."""
        return 0.0

    def now(self, execution: Execution) -> datetime:
        """A logical clock that moves a millisecond per look."""
        self._clock += timedelta(milliseconds=1)
        return self._clock

    def sleep(self, execution: Execution, seconds: float) -> None:
        """Waiting moves the logical clock."""
        self._clock += timedelta(seconds=seconds)

    def call_tool(self, execution: Execution, tool: ToolNode, action: str, inputs: Mapping[str, Any]) -> Reply:
        """The next response under ``tool:action``, else under ``tool``."""
        for key in (f"{tool.name}:{action}", tool.name):
            responses = self._scenario.tool_responses.get(key)
            if responses is None:
                continue
            position = self._cursors[key]
            if position >= len(responses):
                raise StepProblem(
                    "scenario_miss",
                    f"the scenario has {len(responses)} responses for {key!r} and this is call {position + 1}",
                )
            self._cursors[key] = position + 1
            return self._reply(responses[position], tool, action, inputs)
        raise StepProblem(
            "scenario_miss", f"the scenario has no response for {tool.name}:{action} (tool_responses)"
        )

    def _reply(self, given: Any, tool: ToolNode, action: str, inputs: Mapping[str, Any]) -> Reply:
        reply = Reply(
            exit_code=given.exit_code,
            stdout=given.stdout,
            stderr=given.stderr,
            outputs=given.outputs,
            command=preview(tool, action, inputs),
            failed=given.exit_code != 0,
        )
        if given.outputs is not None:
            return reply
        outputs = extract(tool.tool.actions[action], tool.contracts[action], reply)
        return Reply(
            exit_code=reply.exit_code,
            stdout=reply.stdout,
            stderr=reply.stderr,
            outputs=outputs,
            command=reply.command,
            failed=reply.failed,
        )

    def session(self, execution: Execution, name: str, open: Callable[[Services], Any]) -> Any:  # noqa: A002
        """No peer is started: the scenario must give the step's result."""
        raise StepProblem(
            "scenario_miss", f"the scenario gives no result for step {execution.key} (steps: {execution.key}: ...)"
        )

    def ask(self, execution: Execution, question: Question) -> Answer:
        """Evidence by step key or id; a mere confirmation needs none."""
        person = Principal(kind="human", id="replay")
        for name in (execution.key, execution.unit.id):
            given = self._scenario.evidence.get(name)
            if given is not None and question.name in given:
                self._used_evidence.add((name, question.name))
                return Answer(value=given[question.name], canned=True, principal=person)
        if question.kind == "confirm":
            return Answer(value="", canned=True, principal=person)
        raise NoAnswer(f"the scenario has no evidence {question.name!r} for step {execution.unit.id}")

    def attach(self, execution: Execution, path: str) -> Mapping[str, Any]:
        """Nothing is copied in a replay."""
        return {"name": path, "sha256": None, "size": None}

    def settle(self, execution: Execution, request: ApprovalRequest, recorded: Any) -> Settled:
        """Answers from the scenario, in order; a step without any is approved."""
        from gert_core.approvals import Settled

        for name in (execution.key, execution.unit.id):
            answers = self._scenario.approvals.get(name)
            if answers is not None:
                break
        else:
            name, answers = "", []
        execution.add(
            "approval_submitted",
            {"ticket_id": request.ticket_id, "step_id": request.step_id, "risk_level": request.risk_level},
        )
        approvers: list[str] = []
        for answer in answers[self._approvals.get(name, 0) :]:
            self._approvals[name] += 1
            if not answer.approved:
                return self._resolved(execution, request, Settled(
                    status="rejected",
                    reason="approval_rejected",
                    message=f"{answer.approver_id!r} rejected it" + (f": {answer.reason}" if answer.reason else ""),
                ))
            if answer.approver_id not in approvers:
                approvers.append(answer.approver_id)
            if len(approvers) >= request.min_approvers:
                break
        if not name:
            approvers = ["replay"]
        elif len(approvers) < request.min_approvers:
            return Settled(status="pending", approvers=tuple(approvers))
        return self._resolved(execution, request, Settled(status="approved", approvers=tuple(approvers)))

    def _resolved(self, execution: Execution, request: ApprovalRequest, settled: Settled) -> Settled:
        execution.add(
            "approval_resolved",
            {
                "ticket_id": request.ticket_id,
                "approved": settled.status == "approved",
                "approvers": list(settled.approvers),
                "method": "scenario",
            },
        )
        return settled

    def leftovers(self, runbook: Runbook, ran: set[str]) -> list[str]:
        """Sentences about answers nobody asked for and names the runbook does not have."""
        found = []
        for key, used in self._cursors.items():
            total = len(self._scenario.tool_responses[key])
            tool, _, action = key.partition(":")
            node = runbook.tools.get(tool)
            if node is None or (action and action not in node.tool.actions):
                found.append(f"tool_responses: {key!r} is no tool or action of this runbook")
            elif used < total:
                found.append(f"tool_responses: {total - used} of {total} responses for {key!r} were not used")
        for key in self._scenario.steps:
            if key not in self._used_steps:
                found.append(f"steps: {key!r} was never executed")
        for name, items in self._scenario.evidence.items():
            if name not in runbook.by_id and name not in ran:
                found.append(f"evidence: {name!r} is no step of this runbook")
                continue
            unused = [item for item in items if (name, item) not in self._used_evidence]
            if unused:
                found.append(f"evidence: {', '.join(map(repr, unused))} of step {name!r} was not asked for")
        for name, used in self._approvals.items():
            if name not in runbook.by_id and name not in ran:
                found.append(f"approvals: {name!r} is no step of this runbook")
            elif used < len(self._scenario.approvals[name]):
                found.append(f"approvals: {len(self._scenario.approvals[name]) - used} for {name!r} were not used")
        return found


__all__ = ["Replay"]
