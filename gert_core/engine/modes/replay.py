"""The backend of replays: a scenario replaces tools, people and time, with the same result every time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import (
    Answer,
    ApprovalResponse,
    ApprovalTicket,
    Completed,
    Errored,
    ErrorKind,
    Failed,
    Flow,
    NoAnswer,
    Principal,
    Reply,
    StepProblem,
)
from gert_core.documents.generated import tools_by_key
from gert_core.engine.flow.frame import step_id_of
from gert_core.engine.journal import principal_of
from gert_core.engine.steps.approval import approval_process
from gert_core.engine.steps.replies import read_reply
from gert_core.engine.steps.secret_outputs import learn_outputs
from gert_core.tools import REPLAYED, assessed, preview
from gert_core.trace.events import EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gert_core.api import ApprovalRequest, Deadline, Question, Result, Services
    from gert_core.api.context import Peer
    from gert_core.approvals import ApprovalDecision
    from gert_core.documents.scenario import CannedApproval, ScenarioModel, ToolResponse
    from gert_core.documents.tree import Runbook, ToolNode
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution

DEFAULT_APPROVER: Final = "replay"
"""The approver where the scenario names none."""
_PATIENCE: Final = 1000
"""How often a step may look at the clock before time passes without it sleeping, so that no loop is endless."""


class ReplayBackend:
    """The replay: answers come from the scenario, and a missing answer is an error."""

    sequential = True
    symbolic = False
    enforces = True
    acts = False
    jumps_back = True
    repeats = True

    def __init__(self, scenario: ScenarioModel) -> None:
        self._scenario = scenario
        self._responses = {
            key: [response for response in given for _ in range(response.times)]
            for key, given in scenario.tool_responses.items()
        }
        self._cursors = dict.fromkeys(self._responses, 0)
        self._used_steps: dict[str, int] = {}
        self._used_evidence: set[tuple[str, str]] = set()
        self._approvals = dict.fromkeys(scenario.approvals, 0)
        self._clock = EPOCH
        self._reader = ""
        self._looks = 0

    def seed(self, run: Run) -> str:
        """Return the runbook's digest: it is the same in every replay, the run id is not."""
        return run.facts.runbook.document.digest

    def run_seconds(self, seconds: float) -> float:
        """Return 0: a replay takes no time."""
        return 0.0

    def will_execute(self, execution: StepExecution) -> bool:
        """Return True: approvals come from the scenario."""
        return True

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return the scenario's result for this attempt; a step that ends the run is always executed."""
        results = self._scenario.steps.get(execution.key)
        if results is None or execution.compiled.type.flow is Flow.TERMINAL:
            return None
        number = min(execution.attempt, len(results))
        self._used_steps[execution.key] = number
        given = results[number - 1]
        message = given.message or f"the scenario says {given.status}"
        if given.status == "failed":
            return Failed(
                kind=given.kind or ErrorKind.CANNED,
                message=message,
                outputs=given.outputs,
                fields=given.fields,
                principal=self._person(execution),
            )
        if given.status == "error":
            return Errored(
                kind=given.kind or ErrorKind.CANNED,
                message=message,
                outputs=given.outputs,
                fields=given.fields,
                principal=self._person(execution),
            )
        return Completed(outputs=given.outputs, fields=given.fields, principal=self._person(execution))

    def _person(self, execution: StepExecution) -> Principal | None:
        """Return who answered the step's questions, or stated its result, as the scenario tells."""
        names = self._scenario.principals
        found = names.get(execution.key) or names.get(execution.compiled.id)
        return None if found is None else principal_of(found)

    def step_seconds(self, began: float) -> float:
        """Return 0: steps of a replay take no time."""
        return 0.0

    def now(self, execution: StepExecution) -> datetime:
        """Return the logical time, which passes by sleeping, and for a step that only looks at it by looking."""
        self._looks = self._looks + 1 if self._reader == execution.key else 1
        self._reader = execution.key
        if self._looks > _PATIENCE:
            self._clock += timedelta(milliseconds=1)
        return self._clock

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Move the logical clock."""
        self._looks = 0
        self._clock += timedelta(seconds=seconds)

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Return the next response under ``tool:action``, else under ``tool``."""
        full = f"{tool.name}:{action}"
        used = 0
        own = tool.tool.meta.name  # a tool listed by path or pack is also known by its own name
        keys = dict.fromkeys((full, tool.name, f"{own}:{action}", own))
        if document := execution.facts.document:  # an included runbook may have another tool of this name
            keys = dict.fromkeys((f"{document}:{full}", f"{document}:{tool.name}")) | keys
        for key in keys:
            responses = self._responses.get(key, ())
            position = self._cursors.get(key, 0)
            if position < len(responses):
                self._cursors[key] = position + 1
                reply = canned_reply(responses[position], tool, action, inputs)
                learn_outputs(execution, tool.contracts[action].secret_outputs, reply.outputs or {})
                return reply
            used += position
        said = f"no response for {full!r}" if not used else f"no response left for {full!r} after {used}"
        raise StepProblem(ErrorKind.SCENARIO_MISS, f"the scenario has {said} (tool_responses)")

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Refuse: no peer is started, the scenario must give the step's result."""
        raise StepProblem(
            ErrorKind.SCENARIO_MISS,
            f"the scenario gives no result for step {execution.key} (steps: {execution.key}: ...)",
        )

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Return evidence by step key or id; a mere confirmation needs none.

        Suspend the run where the scenario has the step with no evidence at all, as it does for an approval without
        answers.
        """
        person = self._person(execution) or Principal(kind="human", id=DEFAULT_APPROVER)
        for name in (execution.key, execution.compiled.id):
            given = self._scenario.evidence.get(name)
            if given is None:
                continue
            if not given:
                from gert_core.engine.modes.questions import suspend

                suspend(execution, question, execution.services.masker.mask_text(question.prompt))
            if question.name in given:
                self._used_evidence.add((name, question.name))
                return Answer(value=given[question.name], canned=True, principal=person)
        if question.kind == "confirm":
            return Answer(value="", canned=True, principal=person)
        raise NoAnswer(f"the scenario has no evidence {question.name!r} for step {execution.compiled.id}")

    def attach(self, execution: StepExecution, path: str) -> Mapping[str, object]:
        """Return the path: nothing is copied in a replay."""
        return {"name": path, "sha256": None, "size": None}

    def decide_approval(
        self, execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
    ) -> ApprovalDecision:
        """Decide by the scenario's answers, in order, assessed as real ones are; a step without any is approved."""
        name = next((n for n in (execution.key, execution.compiled.id) if n in self._scenario.approvals), None)
        answers = self._answers(name) if name is not None else iter([_approval()])
        if name is None:
            request = replace(request, min_approvers=1, exclude_actor=False, approvers=())
        session = _ScenarioApprovals(answers, request)
        process = approval_process(
            execution, session, blocking=False, now=lambda: self._clock, refused=lambda: session.refused
        )
        # A scenario cannot contain a signature for a ticket id that is new in every run.
        return process.decide(replace(request, require_signed=False), deadline=execution.frame.deadline)

    def _answers(self, name: str) -> Iterator[CannedApproval]:
        given = self._scenario.approvals[name]
        while self._approvals[name] < len(given):
            self._approvals[name] += 1
            yield given[self._approvals[name] - 1]

    def remarks(self, run: Run) -> list[str]:
        """Return warnings about unused answers and about names that the runbook does not have."""
        runbook = run.facts.runbook
        keys = run.services.journal.state.steps
        return [*self._odd_inputs(runbook), *self._odd_responses(runbook), *self._odd_steps(runbook, keys)]

    def _odd_inputs(self, runbook: Runbook) -> Iterator[str]:
        for name in self._scenario.inputs:
            if name not in runbook.model.meta.inputs:
                yield f"inputs: {name!r} is not an input of this runbook"

    def _odd_responses(self, runbook: Runbook) -> Iterator[str]:
        for key, used in self._cursors.items():
            total = len(self._responses[key])
            if not _is_tool(runbook, key):
                yield f"tool_responses: {key!r} is not a tool or action of this runbook"
            elif used < total:
                yield f"tool_responses: {total - used} of {_count(total, 'response')} for {key!r} not used"

    def _odd_steps(self, runbook: Runbook, keys: Iterable[str]) -> Iterator[str]:
        ids = runbook.every_id
        known = {*ids, *keys}
        scenario = self._scenario
        for key, results in scenario.steps.items():
            total, used = len(results), self._used_steps.get(key, 0)
            if step_id_of(key) not in ids:
                yield f"steps: {key!r} is not a step of this runbook"
            elif not used and total == 1:
                yield f"steps: the result for {key!r} was not used"
            elif used < total:
                yield f"steps: {total - used} of {_count(total, 'result')} for {key!r} not used"
        for name, items in scenario.evidence.items():
            unused = [item for item in items if (name, item) not in self._used_evidence]
            if name not in known and step_id_of(name) not in ids:
                yield f"evidence: {name!r} is not a step of this runbook"
            elif unused:
                yield f"evidence: {', '.join(map(repr, unused))} of step {name!r} was not asked for"
        for name, used in self._approvals.items():
            total = len(scenario.approvals[name])
            if name not in known and step_id_of(name) not in ids:
                yield f"approvals: {name!r} is not a step of this runbook"
            elif used < total:
                yield f"approvals: {total - used} of {_count(total, 'answer')} for {name!r} not used"


def _is_tool(runbook: Runbook, key: str) -> bool:
    """Return whether a key of responses is a tool, or a tool and one of its actions."""
    for name, tool in tools_by_key(runbook).items():
        for spelled in (name, tool.name, tool.tool.meta.name):
            if key == spelled or (key.startswith(f"{spelled}:") and key[len(spelled) + 1 :] in tool.tool.actions):
                return True
    return False


class _ScenarioApprovals:
    """The session of an approval provider with the answers of a scenario."""

    def __init__(self, answers: Iterator[CannedApproval], request: ApprovalRequest) -> None:
        self._answers = answers
        self._request = request
        self.refused: tuple[str, str] | None = None
        """Kind and message of a refusal that is not the answer of a person."""

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        del deadline
        given = next(self._answers, None)
        if given is None:
            return None
        if given.kind is not None:
            self.refused = given.kind, given.reason or f"the scenario says {given.kind}"
            return None
        return ApprovalResponse(
            ticket_id=ticket.ticket_id,
            approved=given.approved,
            approver_id=given.approver_id,
            method="scenario",
            timestamp=self._request.created,
            reason=given.reason,
        )

    def close(self) -> None:
        """Do nothing: no connection is open."""


def _approval() -> CannedApproval:
    from gert_core.documents.scenario import CannedApproval

    return CannedApproval(approved=True, approver_id=DEFAULT_APPROVER)


def canned_reply(given: ToolResponse, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
    """Return a response as the tool's transport would; without ``outputs`` it goes through ``extract``."""
    reply = Reply(
        exit_code=given.exit_code,
        stdout=given.stdout,
        stderr=given.stderr,
        outputs=given.outputs,
        command=preview(tool, action, inputs, directory=REPLAYED),
        failed=given.exit_code != 0,
    )
    reply = assessed(tool.tool.actions[action], reply)
    if given.outputs is not None:
        return reply
    return read_reply(tool, action, reply, secret=tool.contracts[action].secret_outputs)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


__all__ = ["DEFAULT_APPROVER", "EPOCH", "ReplayBackend", "canned_reply"]
