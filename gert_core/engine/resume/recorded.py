"""Finds what an earlier process of the same run did, by step key.

A recorded result stands for its step without the step being rendered again, so nothing is compared per step. That
it is still the result of the same question (type, inputs, contract, tool) is known for the run as a whole: runbook,
tool files and policies hash as they did at ``run_start`` (else ``drift``), and everything a step's inputs are
rendered from is a recorded result itself. What is re-entered is compared event by event (``journal``).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api import ErrorKind, EventType, Outcome, RunError
from gert_core.engine.journal import BRANCH
from gert_core.runs.fold import Fold
from gert_core.runs.state import NOTHING
from gert_core.secrets import Masker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.api import TraceEvent
    from gert_core.runs.state import RunState

_VOLATILE: Final[dict[str, tuple[str, ...]]] = {
    EventType.STEP_COMPLETE: ("duration", "detail", "message"),
    EventType.GOVERNANCE_DECISION: ("source", "reason"),
}
"""What may differ between processes: times, the spelling of paths, and sentences, which versions word otherwise."""
_APPROVAL: Final = (EventType.APPROVAL_SUBMITTED, EventType.APPROVAL_RESPONSE, EventType.APPROVAL_RESOLVED)
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
_AFTER: Final = (EventType.FOR_EACH_ITEM, EventType.STEP_COMPLETE, *_APPROVAL)
"""What is still asked of a finished leaf."""


class RecordedResult(Struct, frozen=True, kw_only=True):
    """A finished leaf step, with its secrets put back."""

    status: str
    inputs: Mapping[str, object] | None
    outputs: Mapping[str, object]
    fields: Mapping[str, object]
    failure: Mapping[str, str] | None = None
    reason: str | None = None
    outcome: Outcome | None = None


class RecordedApproval(Struct, kw_only=True):
    """What the trace records about one ticket."""

    created: str
    expires_at: str
    request_hash: str = ""
    responses: list[Mapping[str, object]] = field(default_factory=list)
    resolved: Mapping[str, object] | None = None
    """How it was resolved, approved or not."""


class Recorded:
    """The events of a run, indexed for the process that resumes it; ``masker`` puts secrets back into results."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        self.masker = Masker({})
        self.allow_drift = False
        """Whether results are taken by step key alone, although documents changed."""
        self._fold = Fold()
        self._events: dict[str, dict[str, list[Mapping[str, object]]]] = {}
        self._starts: dict[str, int] = {}
        self._unopened: dict[str, set[str]] = {}
        self._forked: set[str] = set()
        self._lock = threading.Lock()
        self.outcome_written = False
        """Whether an earlier process came as far as ``outcome_resolved``, which is written once."""
        for event in events:
            self._fold.feed(event)
            self._index(event)
        for key, known in self._events.items():
            if _is_leaf(known) and EventType.STEP_COMPLETE not in known:
                self._events[key] = {type_: found for type_, found in known.items() if type_ in _BEFORE}
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
        if event.type == EventType.OUTCOME_RESOLVED:
            self.outcome_written = True
        elif event.type == EventType.RUN_RESUMED:
            for key in event.data.get("void") or ():
                self._void(str(key))
        key = event.step_key
        if key is None:
            return
        known = self._events.setdefault(key, {})
        known.setdefault(event.type, []).append(event.data)
        if event.type == EventType.STEP_START:
            self._starts.setdefault(key, 1)
            if branch := event.data.get(BRANCH):
                self._forked.add(f"{branch['parent']}/{branch['index']}/")
        elif event.type == EventType.STEP_ATTEMPT:
            self._starts[key] = int(event.data.get("attempt") or 2)
        elif event.type == EventType.STEP_COMPLETE and _is_leaf(known):
            # A finished leaf is asked for its result only; holding every event would hold the whole trace.
            self._events[key] = {name: known[name] for name in _AFTER if name in known}

    def void(self, keys: list[str]) -> None:
        """Forget what is known of these keys, so that they run again; approvals given for them stay."""
        for key in keys:
            self._void(key)

    def completion(self, key: str) -> Mapping[str, object]:
        """Return the ``step_complete`` data of a finished leaf as it was written."""
        return self._events[key][EventType.STEP_COMPLETE][-1]

    def complete(self, key: str, data: Mapping[str, object]) -> None:
        """Take a result that a person stated for a step whose outcome was unknown."""
        record = self._fold.state.steps[key]
        outputs, fields = data.get("outputs"), data.get("fields")
        record.outputs = outputs if isinstance(outputs, dict) else NOTHING
        record.fields = fields if isinstance(fields, dict) else NOTHING
        self._events.setdefault(key, {})[EventType.STEP_COMPLETE] = [data]

    def _void(self, key: str) -> None:
        gone = self._events.pop(key, None)
        self._unopened.get(_prefix(key), set()).discard(key)
        if gone is not None and (approval := _approval_of(gone)):
            self._events[key] = approval

    # -- asked by the phases -------------------------------------------------------------------------------------

    def finished(self, key: str) -> RecordedResult | None:
        """Return the recorded result of a leaf, or None when the leaf must run."""
        state = self._fold.state.steps.get(key)
        if state is None or not state.done:
            return None
        self._opened(key)
        data = self._events[key][EventType.STEP_COMPLETE][-1]
        unmask = self.masker.unmask
        outcome = data.get("outcome")
        failure = state.failure
        return RecordedResult(
            status=state.status,
            inputs=unmask(state.inputs),
            outputs=unmask(state.outputs),
            fields=unmask(state.fields),
            failure=None if failure is None else {k: unmask(failure[k]) for k in ("kind", "message")},
            reason=state.reason,
            outcome=None if outcome is None else Outcome(**unmask(outcome)),
        )

    def follow(self, prefix: str, key: str) -> None:
        """Note that a key is opened; refuse a new one while recorded ones of the same list are still to come."""
        if key.endswith("]"):
            return
        with self._lock:
            waiting = self._unopened.get(prefix)
            if waiting and key in waiting:
                waiting.discard(key)
            elif waiting and key not in self._events and not self.allow_drift:
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
        return self._starts.get(key, 0)

    def approval(self, key: str) -> RecordedApproval | None:
        """Return the ticket of a step, if one was submitted."""
        known = self._events.get(key, {})
        submitted = known.get(EventType.APPROVAL_SUBMITTED)
        if not submitted:
            return None
        data = submitted[-1]
        resolved = known.get(EventType.APPROVAL_RESOLVED, [])
        return RecordedApproval(
            created=str(data.get("created", "")),
            expires_at=str(data.get("expires_at", "")),
            request_hash=str(data.get("request_hash", "")),
            responses=[self.masker.unmask(r) for r in known.get(EventType.APPROVAL_RESPONSE, ())],
            resolved=self.masker.unmask(resolved[-1]) if resolved else None,
        )

    # -- asked by the journal ------------------------------------------------------------------------------------

    def event(self, key: str, type: str, number: int) -> Mapping[str, object] | None:  # noqa: A002 - event field
        """Return the n-th recorded event of a type of a key."""
        known = self._events.get(key, {}).get(type, ())
        return known[number] if number < len(known) else None

    def comparable(self, type: str, data: Mapping[str, object]) -> Mapping[str, object]:  # noqa: A002 - event field
        """Return the part of an event that must be the same in every process."""
        if self.allow_drift:
            return {}
        drop = _VOLATILE.get(type, ())
        kept = {name: value for name, value in data.items() if name not in drop}
        if isinstance(failure := kept.get("failure"), dict):
            kept["failure"] = failure.get("kind")
        return kept


def _is_leaf(known: Mapping[str, list[Mapping[str, object]]]) -> bool:
    """Return whether these are the events of a step that acts: only such have a contract and an idempotency key."""
    return EventType.CONTRACT_EVALUATED in known or any(
        "idempotency_key" in data for data in known.get(EventType.STEP_START, ())
    )


def _approval_of(known: Mapping[str, list[Mapping[str, object]]]) -> dict[str, list[Mapping[str, object]]]:
    return {type_: known[type_] for type_ in _APPROVAL if type_ in known}


def _prefix(key: str) -> str:
    """Return the key of the list that a step key is in: everything up to the last separator."""
    return key[: key.rfind("/") + 1]


__all__ = ["Recorded", "RecordedApproval", "RecordedResult"]
