"""Find what an earlier process of the same run did, by step key.

A recorded result stands for its step without the step being rendered again, so nothing is compared per step. That
it is still the result of the same question (type, inputs, contract, tool) is known for the run as a whole: runbook,
tool files and policies hash as they did at ``run_start`` (else ``drift``), and everything a step's inputs are
rendered from is a recorded result itself. What is re-entered is compared event by event (``journal``).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, EventType, Outcome, RunError, StepStatus
from gert_core.documents.merge import UNKNOWN
from gert_core.engine.journal import BRANCH
from gert_core.engine.resume.lost_outputs import LostOutputs
from gert_core.engine.resume.numbers import ONCE, Numbers, by_type, finished, numbers_of
from gert_core.engine.resume.open_gates import OpenGates
from gert_core.engine.resume.records import RecordedApproval, RecordedResult
from gert_core.governance import Act, Decision
from gert_core.runs.fold import Fold, failure_of
from gert_core.secrets import Masker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.api import TraceEvent
    from gert_core.engine.resume.answers import GivenAnswers
    from gert_core.runs.state import RunState
    from gert_core.trace.lines import TraceLines

_VOLATILE: Final[dict[str, tuple[str, ...]]] = {
    EventType.STEP_START: ("items", "quiet"),
    EventType.STEP_COMPLETE: ("duration", "waited", "detail", "message"),
    EventType.GOVERNANCE_DECISION: ("source", "reason", "rules"),
}
"""What may differ between processes: times, the spelling of paths, sentences, which versions word otherwise, the number
of items, which earlier versions left to ``for_each_start``, and that a step is not shown, which they left out."""
_ID: Final = "approver_id"
_CONTRACTS: Final = ("resolved_contract", "contract_summary")
"""Where events have contracts; 0.1 left the effect ``unknown`` of a tool out beside those that a step adds."""
_APPROVAL: Final = (
    EventType.APPROVAL_SUBMITTED,
    EventType.APPROVAL_RESPONSE,
    EventType.APPROVAL_RESOLVED,
    EventType.APPROVAL_VOID,
)
_BEFORE: Final = frozenset(
    {
        EventType.FOR_EACH_ITEM,
        EventType.CONTRACT_EVALUATED,
        EventType.GOVERNANCE_DECISION,
        *_APPROVAL,
        EventType.STEP_START,
        EventType.VISIBILITY_APPLIED,
    }
)
"""What an interrupted leaf keeps; everything else belongs to the attempt that was lost and may come out otherwise."""
_GOES_ON: Final = (EventType.STEP_START, EventType.STEP_ATTEMPT, EventType.QUESTION_ANSWERED)
"""With which a step goes on: from then on it may act."""
_AFTER: Final = (*ONCE, *_APPROVAL)
"""What is still asked of a finished leaf."""


class Recorded:
    """The events of a run, indexed for the process that resumes it; ``masker`` puts secrets back into results.

    The index has the numbers of events; their data is read from ``lines`` when it is asked for.
    """

    def __init__(self, events: Iterable[TraceEvent], lines: TraceLines) -> None:
        self.masker = Masker({})
        self.allow_drift = False
        """Whether results are taken by step key alone, although documents changed."""
        self.floor_changed = False
        """Whether the machine floor changed, which applies to everything that is not finished."""
        self.same_policies = False
        """Whether decisions must be as they were recorded: policies and gert are those of when the run started."""
        self._fold = Fold()
        self._lines = lines
        self.lost = LostOutputs(lines)
        self._leaves: dict[str, bool] = {}
        """The leaves that have no result so far, and whether they act: one that is skipped does not."""
        self.gates = OpenGates(self._leaves, lines)
        self._events: dict[str, Numbers] = {}
        self._spent: dict[str, int] = {}
        """How many tickets of a step served an execution that is to be repeated."""
        self._decided: dict[str, int] = {}
        """The last decisions about steps that did not just allow them; they hold when the steps are executed again."""
        self._starts: dict[str, int] = {}
        """How often a step was started, when that is not as often as ``step_start`` is recorded."""
        self._went_on: dict[str, int] = {}
        """How often a step went on since its last ticket was submitted."""
        self._retried: dict[str, int] = {}
        """How many of the attempts of a step its ``retry`` policy made."""
        self._stated: dict[str, Mapping[str, object]] = {}
        self._unopened: dict[str, set[str]] = {}
        self._forked: set[str] = set()
        self._again: set[str] = set()
        """Steps that run again although steps after them in their list are finished."""
        self._lock = self.lock = threading.RLock()
        self.answers: GivenAnswers | None = None
        """What people answered while the run was suspended; read when the first question is asked."""
        self.outcome_written = False
        """Whether an earlier process came as far as ``outcome_resolved``, which is written once."""
        for event in events:
            self._fold.feed(event)
            self._index(event)
        for key, acts in self._leaves.items():
            if acts:
                known = by_type(self._events[key])
                self._events[key] = {type_: found for type_, found in known.items() if type_ in _BEFORE}
        for key in self._events:
            if not key.endswith("]"):  # items of a loop open in any order; the loop itself is compared
                self._unopened.setdefault(_prefix(key), set()).add(key)

    @property
    def state(self) -> RunState:
        """Return the fold of the same events, continued by the journal of this process."""
        return self._fold.state

    @property
    def forked(self) -> frozenset[str]:
        """Return the prefixes of the keys in blocks that ran as branches of a fork."""
        return frozenset(self._forked)

    def _index(self, event: TraceEvent) -> None:
        type_, key = event.type, event.step_key
        if type_ == EventType.OUTCOME_RESOLVED:
            self.outcome_written = True
        elif type_ == EventType.RUN_RESUMED:
            self.void([str(key) for key in event.data.get("void") or ()])
        if key is None:
            return
        self.gates.take(event, key)
        known = self._events.get(key)
        if not isinstance(known, dict):
            known = self._events[key] = by_type(known)
        known.setdefault(type_, []).append(event.seq)
        if type_ == EventType.GOVERNANCE_DECISION and event.data.get("decision") != Act.ALLOW:
            self._decided[key] = event.seq
        elif type_ == EventType.APPROVAL_SUBMITTED:
            self._went_on[key] = 0
        elif key in self._went_on and type_ in _GOES_ON and event.data.get("reason") != "not_started":
            self._went_on[key] += 1
        if type_ == EventType.STEP_START and (branch := event.data.get(BRANCH)):
            prefix = f"{branch['parent']}/{branch['index']}/"
            if key.startswith(prefix):  # an item of a loop has no such prefix
                self._forked.add(prefix)
        if type_ == EventType.CONTRACT_EVALUATED or (type_ == EventType.STEP_START and "idempotency_key" in event.data):
            self._leaves[key] = True
        elif type_ == EventType.STEP_START and "contract_summary" in event.data:
            self._leaves.setdefault(key, False)
        elif type_ == EventType.STEP_ATTEMPT:
            self._attempted(key, event.data)
        elif type_ == EventType.STEP_COMPLETE and key in self._leaves:
            # A finished leaf is asked for its result only, and a run may have a hundred thousand of them.
            del self._leaves[key]
            self._events[key] = finished({name: known[name] for name in _AFTER if name in known})

    def _attempted(self, key: str, data: Mapping[str, Any]) -> None:
        number, reason = int(data.get("attempt") or 2), data.get("reason")
        self._starts[key] = number - 1 if reason == "not_started" else number
        if reason == "retry":
            self._retried[key] = self._retried.get(key, 0) + 1

    def void(self, keys: list[str]) -> None:
        """Forget what is known of these keys, so that they run again; approvals that were given stay, as spent."""
        for key in keys:
            self._void(key)
        self.gates.reopen(keys)

    def completion(self, key: str) -> Mapping[str, object]:
        """Return the ``step_complete`` data of a finished leaf as it was written."""
        return self._data(key, EventType.STEP_COMPLETE)[-1]

    def complete(self, key: str, data: Mapping[str, object]) -> None:
        """Take a result that a person stated for a step whose outcome was unknown."""
        self._stated[key] = data

    def is_lost(self, name: str) -> bool:
        """Return whether a name in a mask is that of a step's output, known to an earlier process only; note it."""
        if name.rpartition(".")[0] not in self._events:
            return False
        self.lost.names.add(name)
        return True

    def _void(self, key: str) -> None:
        self._again.add(key)
        gone = self._events.pop(key, None)
        for known_by_key in (self._leaves, self._starts, self._retried, self._went_on):
            known_by_key.pop(key, None)
        self._unopened.get(_prefix(key), set()).discard(key)
        if gone is None:
            return
        known = by_type(gone)
        if EventType.STEP_START in known:
            self._spent[key] = len(known.get(EventType.APPROVAL_SUBMITTED, ()))
        if approval := {str(type_): known[type_] for type_ in _APPROVAL if type_ in known}:
            self._events[key] = approval

    def _data(self, key: str, type: str) -> list[dict[str, Any]]:  # noqa: A002 - event field
        """Return the data of all recorded events of a type of a key."""
        return [self._lines.data(number) for number in numbers_of(self._events.get(key), type)]

    # -- asked by the phases -------------------------------------------------------------------------------------

    def finished(self, key: str) -> RecordedResult | None:
        """Return the recorded result of a leaf, or None when the leaf must run."""
        data = self._stated.get(key)
        if data is None:
            numbers = numbers_of(self._events.get(key), EventType.STEP_COMPLETE)
            if not numbers:
                return None
            data = self._lines.data(numbers[-1])
        self._opened(key)
        unmask = self.masker.unmask
        failure, outcome, reason = failure_of(data), data.get("outcome"), data.get("reason")
        return RecordedResult(
            status=str(data.get("status", StepStatus.ERROR)),
            outputs=unmask(data.get("outputs") or {}),
            fields=unmask(data.get("fields") or {}),
            failure=None
            if failure is None
            else {k: self.masker.unmask_message(failure[k]) for k in ("kind", "message")},
            reason=None if reason is None else str(reason),
            outcome=None
            if outcome is None
            else Outcome(**{name: value for name, value in unmask(outcome).items() if value is not None}),
            stated=data.get("reconciled") == "done",
        )

    def inputs(self, key: str) -> Mapping[str, object]:
        """Return the inputs that a finished leaf had."""
        started = self._data(key, EventType.STEP_START)
        found: dict[str, object] = self.masker.unmask(started[-1].get("inputs") or {}) if started else {}
        return found

    def follow(self, prefix: str, key: str) -> None:
        """Note that a key is opened; refuse a new one while recorded ones of the same list are still to come."""
        if key.endswith("]"):
            return
        with self._lock:
            waiting = self._unopened.get(prefix)
            if waiting and key in waiting:
                waiting.discard(key)
            elif waiting and key not in self._events and key not in self._again and not self.allow_drift:
                missing = ", ".join(sorted(waiting))
                raise RunError(
                    f"the resumed run does not follow its trace: {key} would open before {missing}",
                    kind=ErrorKind.RESUME_DIVERGED,
                    hint="the runbook or its conditions changed since the run started; start a new run",
                )

    def _opened(self, key: str) -> None:
        with self._lock:
            self._unopened.get(_prefix(key), set()).discard(key)

    def attempts(self, key: str) -> int:
        """Return how often a leaf was started before."""
        return self._starts.get(key) or int(bool(numbers_of(self._events.get(key), EventType.STEP_START)))

    def went_on(self, key: str, ticket_id: str) -> int:
        """Return how often an execution of a step that is not void started or went on under its last ticket.

        This process continues or repeats it. A start under an earlier ticket tells nothing about this one.
        """
        submitted = numbers_of(self._events.get(key), EventType.APPROVAL_SUBMITTED)
        if not submitted or self._lines.data(submitted[-1]).get("ticket_id") != ticket_id:
            return 0
        return self._went_on.get(key, 0)

    def asking(self, key: str) -> bool:
        """Return whether a step did nothing but ask when it was left, so that it goes on in the same attempt."""
        record = self.state.steps.get(key)
        return record is not None and record.asking

    def retries(self, key: str) -> int:
        """Return how many attempts of a leaf its ``retry`` policy made."""
        return self._retried.get(key, 0)

    def decision(self, key: str) -> Decision | None:
        """Return the last decision of the policies about a leaf that has no result, if one was made."""
        decided = self._data(key, EventType.GOVERNANCE_DECISION)
        return Decision.from_json(self.masker.unmask_event(decided[-1])) if decided else None

    def earlier_decision(self, key: str) -> Decision | None:
        """Return the last decision about a step, also when what it decided about is to be executed again."""
        number = self._decided.get(key)
        if number is None:
            return self.decision(key)
        return Decision.from_json(self.masker.unmask_event(self._lines.data(number)))

    def approval(self, key: str) -> RecordedApproval | None:
        """Return the last ticket of a step, if one was submitted."""
        submitted = self._data(key, EventType.APPROVAL_SUBMITTED)
        if not submitted:
            return None
        data = submitted[-1]
        ticket = data.get("ticket_id")
        document = data.get("request")
        resolved = [one for one in self._data(key, EventType.APPROVAL_RESOLVED) if one.get("ticket_id") == ticket]
        voids = self._data(key, EventType.APPROVAL_VOID)
        responses = self._data(key, EventType.APPROVAL_RESPONSE)
        return RecordedApproval(
            ticket_id=str(ticket),
            created=str(data.get("created", "")),
            expires_at=str(data.get("expires_at", "")),
            request_hash=str(data.get("request_hash", "")),
            document=document if isinstance(document, dict) else None,
            generation=len(submitted),
            voids=len(voids),
            spent=len(submitted) <= self._spent.get(key, 0) or any(one.get("ticket_id") == ticket for one in voids),
            responses=[self._response(one) for one in responses if one.get("ticket_id") == ticket],
            resolved=self.masker.unmask_event(resolved[-1]) if resolved else None,
        )

    def _response(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a recorded answer; the id in it is never masked, so one that looks like a mask is that text."""
        restored: dict[str, Any] = self.masker.unmask({k: v for k, v in data.items() if k != _ID})
        return restored | {k: v for k, v in data.items() if k == _ID}

    # -- asked by the journal ------------------------------------------------------------------------------------

    def event(self, key: str, type: str, number: int) -> Mapping[str, object] | None:  # noqa: A002 - event field
        """Return the n-th recorded event of a type of a key."""
        numbers = numbers_of(self._events.get(key), type)
        return self._lines.data(numbers[number]) if number < len(numbers) else None

    def comparable(self, type: str, data: Mapping[str, object]) -> Mapping[str, object]:  # noqa: A002 - event field
        """Return the part of an event that must be the same in every process."""
        if self.allow_drift:
            return {}
        drop = _VOLATILE.get(type, ())
        kept = {name: value for name, value in data.items() if name not in drop}
        if isinstance(failure := kept.get("failure"), dict):
            kept["failure"] = failure.get("kind")
        for name in _CONTRACTS:
            if isinstance(contract := kept.get(name), dict):
                kept[name] = {**contract, "effects": [tag for tag in contract.get("effects") or () if tag != UNKNOWN]}
        return kept


def _prefix(key: str) -> str:
    """Return the key of the list that a step key is in: everything up to the last separator."""
    return key[: key.rfind("/") + 1]


__all__ = ["Recorded"]
