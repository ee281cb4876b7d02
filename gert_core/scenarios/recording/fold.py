"""Fold the events of a finished run into what a recording of it needs: results, answers and decisions by step key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from msgspec import Struct, field

from gert_core.api.events import EventType
from gert_core.documents.scenario import NotGiven
from gert_core.runs.fold import Fold
from gert_core.scenarios.visits import Visits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gert_core.api.events import TraceEvent
    from gert_core.runs.state import RunState

_COUNTS: Final = ("counted", "rejected")
"""The results of answers to a ticket that had an effect."""
_NOT_GIVEN: Final = get_args(NotGiven)
_UNNAMED: Final = "unnamed"
"""Who is named where a trace has a rejection without a name."""


class TakenResult(Struct, kw_only=True):
    """How one attempt of a step ended, as the trace has it."""

    status: str
    outputs: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    failure: Mapping[str, Any] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


class TakenAnswer(Struct, kw_only=True):
    """One answer to the ticket of a step."""

    approved: bool
    approver_id: str | None = None
    reason: str | None = None
    kind: str | None = None
    """Why it was refused, where no approver rejected it."""


class TakenStep(Struct, kw_only=True):
    """What the trace has of one execution of a step, from its last start on."""

    key: str
    acts: bool = False
    """Whether it is a leaf that was executed."""
    attempts: list[TakenResult] = field(default_factory=list)
    """The result of each attempt that came to an end, the one that counts last."""
    calls: int = 0
    """How many calls of tools are traced beside the one that its result is about."""
    answered: dict[str, str] = field(default_factory=dict)
    """By the name of a question who answered it last."""
    tickets: dict[str, list[TakenAnswer]] = field(default_factory=dict)
    """By the id of a ticket the answers that had an effect."""
    stated: str | None = None
    """Who stated the result, when nothing executed the step to its end."""

    @property
    def answers(self) -> list[TakenAnswer] | None:
        """Return the answers to its last ticket; None when no approval was asked for."""
        return list(self.tickets.values())[-1] if self.tickets else None


class Taken:
    """The fold of a run for its recording; ``state`` is the fold that every reader has."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        self._fold = Fold()
        self.steps: dict[str, TakenStep] = {}
        self.decisions: dict[str, str] = {}
        """By step key what the policies decided."""
        self._loops: set[str] = set()
        self._positions: dict[str, int] = {}
        self.drifted = False
        """Whether documents changed while the run was under way."""
        self._takes: dict[str, Callable[[TakenStep, TraceEvent], object]] = {
            EventType.FOR_EACH_START: self._looped,
            EventType.FOR_EACH_ITEM: self._item,
            EventType.GOVERNANCE_DECISION: self._decided,
            EventType.APPROVAL_SUBMITTED: self._submitted,
            EventType.APPROVAL_RESPONSE: self._responded,
            EventType.APPROVAL_RESOLVED: self._resolved,
            EventType.APPROVAL_VOID: self._voided,
            EventType.STEP_START: self._started,
            EventType.STEP_ATTEMPT: self._attempted,
            EventType.TOOL_CALL: self._called,
            EventType.QUESTION_ANSWERED: self._answered,
            EventType.STEP_COMPLETE: self._completed,
        }
        for event in events:
            self._fold.feed(event)
            if event.step_key is None:
                if event.type == EventType.RUN_RESUMED:
                    self._resumed(event)
            elif (take := self._takes.get(event.type)) is not None:
                take(self.steps.setdefault(event.step_key, TakenStep(key=event.step_key)), event)

    @property
    def state(self) -> RunState:
        """Return the state of the run."""
        return self._fold.state

    @property
    def statuses(self) -> dict[str, str]:
        """Return the steps that were visited, with their statuses."""
        return {key: step.status for key, step in self.state.steps.items()}

    @property
    def visits(self) -> Visits:
        """Return the steps that were visited, by the names that tests have for them."""
        found = Visits()
        for key, step in self.state.steps.items():
            loop, place = key in self._loops, self._positions.get(key)
            found.note(key, step.step_id, loop=loop, item=place, status=step.status)
        return found

    def _looped(self, step: TakenStep, event: TraceEvent) -> None:
        self._loops.add(step.key)

    def _item(self, step: TakenStep, event: TraceEvent) -> None:
        if isinstance(place := event.data.get("index"), int):
            self._positions[step.key] = place

    def _resumed(self, event: TraceEvent) -> None:
        self.drifted = self.drifted or bool(event.data.get("drift"))
        for key in event.data.get("void") or ():
            self.steps.pop(str(key), None)
            self.decisions.pop(str(key), None)

    def _decided(self, step: TakenStep, event: TraceEvent) -> None:
        self.decisions[step.key] = str(event.data.get("decision"))

    def _submitted(self, step: TakenStep, event: TraceEvent) -> None:
        step.tickets.setdefault(str(event.data.get("ticket_id")), [])

    def _responded(self, step: TakenStep, event: TraceEvent) -> None:
        data = event.data
        if data.get("result") in _COUNTS and (known := step.tickets.get(str(data.get("ticket_id")))) is not None:
            known.append(_answer(data, kind=data.get("problem")))

    def _resolved(self, step: TakenStep, event: TraceEvent) -> None:
        """Note a refusal that no answer tells of: there was none in time, or nothing to give one with."""
        data = event.data
        known = step.tickets.get(str(data.get("ticket_id")))
        if known is not None and data.get("approved") is False and not any(not answer.approved for answer in known):
            known.append(_answer(data, kind=data.get("reason")))

    def _voided(self, step: TakenStep, event: TraceEvent) -> None:
        step.tickets.pop(str(event.data.get("ticket_id")), None)

    def _started(self, step: TakenStep, event: TraceEvent) -> None:
        step.acts = "idempotency_key" in event.data
        step.attempts, step.calls, step.answered, step.stated = [], 0, {}, None

    def _attempted(self, step: TakenStep, event: TraceEvent) -> None:
        step.calls = 0
        previous = event.data.get("previous")
        if isinstance(previous, dict):  # a retry; what was interrupted has no result
            failure = {name: previous.get(name) for name in ("kind", "message")}
            detail = previous.get("detail") or {}
            step.attempts.append(TakenResult(status=str(previous.get("status")), failure=failure, detail=detail))

    def _called(self, step: TakenStep, event: TraceEvent) -> None:
        step.calls += 1

    def _answered(self, step: TakenStep, event: TraceEvent) -> None:
        step.answered[str(event.data.get("name"))] = str(event.data.get("by") or "")

    def _completed(self, step: TakenStep, event: TraceEvent) -> None:
        data = event.data
        if "reconciled" in data:
            step.stated = str((event.principal or {}).get("id") or "")
        failure = data.get("failure")
        step.attempts.append(
            TakenResult(
                status=str(data.get("status")),
                outputs=data.get("outputs") or {},
                fields=data.get("fields") or {},
                failure=failure if isinstance(failure, dict) else None,
                detail=data.get("detail") or {},
            )
        )


def _answer(data: Mapping[str, Any], *, kind: object) -> TakenAnswer:
    approved, reason = data.get("approved") is True and data.get("result") == _COUNTS[0], data.get("reason")
    who = data.get("approver_id") or None
    if approved or kind not in _NOT_GIVEN:
        return TakenAnswer(
            approved=approved, approver_id=str(who or _UNNAMED), reason=None if reason is None else str(reason)
        )
    told = data.get("message")
    return TakenAnswer(
        approved=False,
        approver_id=None if who is None else str(who),
        reason=None if told is None else str(told),
        kind=str(kind),
    )


__all__ = ["Taken", "TakenAnswer", "TakenResult", "TakenStep"]
