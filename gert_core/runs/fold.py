"""Fold trace events into the state of a run, for every reader of a trace."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.events import EventType
from gert_core.api.results import RunStatus, StepStatus
from gert_core.runs import holds
from gert_core.runs.changers import changed_by
from gert_core.runs.state import RunState, StepQuestions, StepState, parent_key
from gert_core.runs.withdrawn import withdraw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gert_core.api.events import TraceEvent

_WARNINGS: Final = 50

_APPROVAL: Final = ("ticket_id", "step_id", "risk_level", "expires_at", "min_approvers", "approvers", "reason")
"""What is kept of the approval of a step."""


class Fold:
    """A fold of events, fed one by one in order; ``state`` is current after each of them."""

    __slots__ = ("_handlers", "state")

    def __init__(self, state: RunState | None = None) -> None:
        self.state = state or RunState()
        self._handlers: dict[str, Callable[[TraceEvent], object]] = {
            EventType.RUN_START: self._run_start,
            EventType.INPUT_RESOLVED: self._input,
            EventType.RUN_COMPLETE: self._run_complete,
            EventType.RUN_SUSPENDED: self._run_suspended,
            EventType.RUN_RESUMED: self._run_resumed,
            EventType.CONTRACT_EVALUATED: self._contract,
            EventType.GOVERNANCE_DECISION: self._decision,
            EventType.APPROVAL_SUBMITTED: self._submitted,
            EventType.APPROVAL_RESPONSE: self._response,
            EventType.APPROVAL_RESOLVED: self._resolved,
            EventType.APPROVAL_VOID: self._resolved,
            EventType.STEP_START: self._step_start,
            EventType.STEP_ATTEMPT: self._step_attempt,
            EventType.STEP_COMPLETE: self._step_complete,
            EventType.QUESTION_ASKED: self._question,
            EventType.QUESTION_ANSWERED: self._question,
            EventType.PAUSE_REQUESTED: self._pause,
            EventType.OUTCOME_RESOLVED: self._outcome,
            EventType.CONTRACT_VIOLATION: self._violation,
            EventType.RUN_SUMMARY: self._summary,
        }

    def feed(self, event: TraceEvent) -> None:
        """Process the next event."""
        state = self.state
        state.seq = event.seq
        state.last_type = event.type
        if event.step_key is not None:
            state.last_key = event.step_key
        if handler := self._handlers.get(event.type):
            handler(event)
        state.updated = event.timestamp

    def _run_start(self, event: TraceEvent) -> None:
        state = self.state
        state.run_id = event.run_id
        state.status = RunStatus.RUNNING
        state.started = event.timestamp
        state.times.begin(event.timestamp)
        state.facts = dict(event.data)

    def _input(self, event: TraceEvent) -> None:
        data = event.data
        if data.get("secret") is True:
            self.state.secret_inputs[str(data.get("input"))] = str(data.get("from") or "")

    def _run_complete(self, event: TraceEvent) -> None:
        state, data = self.state, event.data
        state.status = str(data.get("status", RunStatus.ERROR))
        state.outcome = data.get("outcome") or (state.outcome if state.status == RunStatus.COMPLETED else None)
        state.failure = data.get("failure")
        state.failing = [str(key) for key in data.get("failing") or ()]
        if not state.failing and isinstance(state.failure, dict) and state.failure.get("step_key"):
            state.failing = [str(state.failure["step_key"])]
        self._end(data)
        state.finished = event.timestamp
        state.result = dict(data)
        if state.aborted:  # ended for good: what it asked people waits for no answer
            withdraw(state)

    def _run_suspended(self, event: TraceEvent) -> None:
        self.state.status = str(event.data.get("status", RunStatus.APPROVAL_PENDING))
        if self.state.aborting:  # only its cleanup goes on, and waits for what the event names
            withdraw(self.state, tickets=event.data.get("tickets") or (), questions=event.data.get("questions") or ())
        holds.suspend(self.state, event)
        self._end(event.data)
        self.state.result = dict(event.data)

    def _end(self, data: Mapping[str, Any]) -> None:
        state = self.state
        state.times.end(data)
        state.duration, state.waited = state.times.told(data.get("duration")), state.times.told_waited

    def _run_resumed(self, event: TraceEvent) -> None:
        state = self.state
        state.times.lose(state.updated)
        if (waited := event.data.get("waited") or state.suspended_for(event.timestamp)) is not None:
            state.times.suspended(waited)
        state.times.begin(event.timestamp)
        state.status = RunStatus.RUNNING
        state.resumed += not holds.resume(state, event)
        state.aborting = state.aborting or event.data.get("abort") is True
        if names := changed_by(event.data):
            state.changed_by.append(names)
        state.outcome = state.failure = state.finished = state.duration = state.waited = None
        state.failing = []
        state.result = {}
        for key in event.data.get("void") or ():
            state.questions.pop(str(key), None)
            holds.forget(state, str(key))
            if (record := state.steps.pop(str(key), None)) is not None:
                state.void[str(key)] = record

    def _contract(self, event: TraceEvent) -> None:
        record, data = self._record(event), event.data
        contract = data.get("resolved_contract", data.get("contract"))
        _recovery(record, {**contract, **data} if isinstance(contract, dict) else data)

    def _decision(self, event: TraceEvent) -> None:
        self._record(event)
        self.state.decision = {"seq": event.seq, "step_key": event.step_key, "data": dict(event.data)}

    def _approval(self, event: TraceEvent, status: str) -> None:
        """Note how the approval of a step stands."""
        known = self.state.approvals.setdefault(str(event.step_key), {})
        told = {name: event.data[name] for name in _APPROVAL if name in event.data}
        if status == "pending":
            known.clear()
        known.update({**told, "seq": event.seq, "status": status})

    def _submitted(self, event: TraceEvent) -> None:
        submitted = event.data.get("created") or event.timestamp
        known = {name: value for name, value in event.data.items() if name != "request"}
        ticket = {**known, "step_key": event.step_key, "submitted": submitted, "responses": []}
        self.state.tickets[str(event.data.get("ticket_id"))] = ticket
        self._approval(event, "pending")
        self._record(event)

    def _response(self, event: TraceEvent) -> None:
        ticket = self.state.tickets.get(str(event.data.get("ticket_id")))
        if ticket is not None:
            ticket["responses"].append(dict(event.data))

    def _resolved(self, event: TraceEvent) -> None:
        ticket = self.state.tickets.pop(str(event.data.get("ticket_id")), None)
        void = event.type == EventType.APPROVAL_VOID
        self._approval(event, "void" if void else str(event.data.get("status") or "resolved"))
        if event.data.get("reason") == ErrorKind.APPROVAL_REJECTED and event.data.get("approver_id"):
            self.state.approvals[str(event.step_key)]["rejected_by"] = event.data["approver_id"]
        if ticket is not None:
            self.state.times.wait(ticket["submitted"], event.timestamp)

    def _step_start(self, event: TraceEvent) -> None:
        record, data = self._record(event), event.data
        record.status = RunStatus.RUNNING
        record.attempts = 1
        record.asking = False
        record.acts = data.get("idempotency_key") is not None
        record.quiet = data.get("quiet") is True
        record.description = _text(data.get("description"))
        if isinstance(summary := data.get("contract_summary"), dict):
            _recovery(record, summary)

    def _step_attempt(self, event: TraceEvent) -> None:
        record, started = self._record(event), event.data.get("reason") != "not_started"
        if isinstance(summary := event.data.get("contract_summary"), dict):  # of a changed document
            _recovery(record, summary)
        record.acts = started
        record.asking = False
        if event.data.get("reason") == "retry":  # what the next attempt asks is asked anew
            self.state.questions.pop(record.key, None)
            holds.forget(self.state, record.key)
        number = event.data.get("attempt") or 1
        record.attempts = number if started else max(1, number - 1)

    def _question(self, event: TraceEvent) -> None:
        record, data, state = self._record(event), event.data, self.state
        key, asked = record.key, event.type == EventType.QUESTION_ASKED
        record.asking = asked and data.get("acted") is not True
        if asked:
            question = data["question"]
            known = state.questions.setdefault(key, StepQuestions(since=event.seq))
            known.open[str(question.get("name"))] = {"seq": event.seq, "asked": event.timestamp, **question}
        elif key in state.questions:
            question = state.questions[key].open.pop(str(data.get("name")), None)
            if question is not None:
                state.times.wait(question["asked"], event.timestamp)

    def _pause(self, event: TraceEvent) -> None:
        record = self._record(event)
        record.asking = event.data.get("acted") is not True
        holds.pause(self.state, event)

    def _step_complete(self, event: TraceEvent) -> None:
        record, data = self._record(event), event.data
        record.status = intern(str(data.get("status", StepStatus.ERROR)))
        record.ended = event.seq
        if self.state.questions:
            self.state.questions.pop(record.key, None)
        if self.state.holds or self.state.released:
            holds.forget(self.state, record.key)
        if event.data.get("started") is False:
            record.acts = False
        record.duration = _text(data.get("duration"))
        record.waited = _text(data.get("waited"))
        record.failure = failure_of(data)
        record.reason = _text(data.get("reason"))
        detail = data.get("detail")
        record.detail = detail if record.failed and isinstance(detail, dict) else None

    def _outcome(self, event: TraceEvent) -> None:
        outcome = event.data.get("outcome") or event.data.get("structured_outcome") or event.data
        self.state.outcome = {name: outcome.get(name) for name in ("category", "code", "meta")}

    def _summary(self, event: TraceEvent) -> None:
        name, payload = str(event.data.get("summary_type")), event.data.get("payload")
        self.state.summaries[name] = {"seq": event.seq, "step_key": event.step_key, "payload": payload}

    def _violation(self, event: TraceEvent) -> None:
        self.state.violations += 1
        if len(self.state.warnings) < _WARNINGS:
            told = {name: event.data.get(name) for name in ("kind", "message", "severity")}
            self.state.warnings.append({"step_key": event.step_key, **told})

    def _record(self, event: TraceEvent) -> StepState:
        """Return the record of the event's step, made at its first event."""
        key = event.step_key or ""
        record = self.state.steps.get(key)
        if record is None:
            record = self.state.steps[key] = StepState(key=key)
            # A step below another makes that one a container, whatever its own events contain.
            if (parent := self.state.steps.get(parent_key(key))) is not None:
                parent.container = True
        data: Mapping[str, object] = event.data
        record.step_id = record.step_id or intern(str(data.get("step_id", "")))
        record.type = record.type or intern(str(data.get("type", data.get("step_type", ""))))
        return record


def failure_of(data: Mapping[str, object]) -> dict[str, Any] | None:
    """Return kind and message from the data of a ``step_complete``: a failure, a denial or a refused approval."""
    failure = data.get("failure")
    if failure is None and "message" in data:
        return {"kind": data.get("reason"), "message": data["message"]}
    if failure is None and isinstance(approval := data.get("approval"), dict):
        return {"kind": approval.get("reason"), "message": approval.get("message")}
    return failure if isinstance(failure, dict) else None


def _text(value: object) -> str | None:
    """Return one text for all steps that have an equal one."""
    return None if value is None else intern(str(value))


def _recovery(record: StepState, contract: Mapping[str, object]) -> None:
    """Record whether an interrupted execution may be repeated; a contract without effects and writes is writing."""
    silent = not contract.get("effects") and not contract.get("writes")
    record.writing = bool(contract.get("writing", silent or contract.get("writes")))
    record.idempotent = bool(contract.get("idempotent"))
    record.computes = not contract.get("effects") and not record.writing and contract.get("deterministic") is True


def fold(events: Iterable[TraceEvent]) -> RunState:
    """Return the state of the run after these events."""
    folding = Fold()
    for event in events:
        folding.feed(event)
    return folding.state


__all__ = ["Fold", "RunState", "StepState", "failure_of", "fold"]
