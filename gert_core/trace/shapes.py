"""The types that readers of a trace rely on: of every event, and of the data of those that the core writes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, convert, field
from msgspec.structs import fields

from gert_core.api.events import EventType
from gert_core.api.results import StepStatus  # noqa: TC001 - read by msgspec at run time
from gert_core.kit.times import checked_time
from gert_core.trace.start_shape import RunStart

if TYPE_CHECKING:
    from gert_core.api.events import TraceEvent

_Map = dict[str, Any]
_Time = Annotated[datetime, Meta(tz=True)]


class _Failure(Struct):
    kind: str
    message: str
    step_key: str | None = None
    step_id: str | None = None
    status: str | None = None


class _Outcome(Struct, forbid_unknown_fields=True):
    category: str
    code: str | None = None
    meta: _Map | None = None


class _Tags(Struct):
    """A contract, or the summary of one."""

    effects: list[str] | None = None
    writes: list[str] | None = None
    reads: list[str] | None = None
    writing: bool | None = None
    deterministic: bool | None = None
    idempotent: bool | None = None


class _Branch(Struct):
    parent: str
    index: int | str
    label: Any = None


class _Previous(Struct):
    kind: str | None = None
    message: str | None = None
    status: str | None = None
    duration: str | None = None
    detail: _Map | None = None


class _Refusal(Struct):
    reason: str | None = None
    message: str | None = None


class _Question(Struct):
    name: str
    kind: str | None = None
    prompt: str | None = None
    items: list[str] | None = None
    title: str | None = None
    instructions: str | None = None


class _InputResolved(Struct):
    input: str
    source: str | None = None
    from_: str | None = field(name="from", default=None)
    secret: bool | None = None


class _RunEnd(Struct):
    status: str
    outcome: _Outcome | None = None
    failure: _Failure | None = None
    failing: list[str] | None = None
    reason: str | None = None
    tickets: list[str] | None = None
    questions: list[str] | None = None
    unblock_key: str | None = None
    unblock_keys: list[str] | None = None
    block: _Map | None = None
    outputs: _Map | None = None
    duration: str | None = None
    waited: str | None = None


class _RunResumed(Struct):
    reason: str | None = None
    unblock_key: str | None = None
    message: str | None = None
    waited: str | None = None
    void: list[str] | None = None
    drift: list[str] | None = None
    reconciled: dict[str, str] | None = None
    ticket_id: str | None = None
    torn_bytes: int | None = None
    actor: str | None = None
    os_user: str | None = None
    host: str | None = None
    abort: bool | None = None


class _Contract(Struct):
    resolved_contract: _Tags | None = None
    contract: _Tags | None = None
    writing: bool | None = None


class _Governance(Struct):
    decision: str | None = None
    risk_level: str | None = None
    source: str | None = None
    rule: Any = None
    reason: str | None = None
    policy_digest: str | None = None
    min_approvers: int | None = None
    exclude_actor: bool | None = None
    approvers: list[str] | None = None
    rules: list[str] | None = None


class _Submitted(Struct):
    ticket_id: str
    step_id: str | None = None
    risk_level: str | None = None
    created: _Time | UnsetType = UNSET
    expires_at: _Time | UnsetType = UNSET
    request_hash: str | None = None
    request: _Map | None = None

    def __post_init__(self) -> None:
        for moment in (self.created, self.expires_at):
            if isinstance(moment, datetime):
                checked_time(moment)


class _Response(Struct):
    ticket_id: str
    approved: bool = False
    approver_id: str = ""
    method: str = ""
    timestamp: str = ""
    signature: str | None = None
    signature_alg: str | None = None
    key_id: str | None = None
    reason: str | None = None
    uid: int | None = None
    written: str | None = None
    result: str | None = None


class _Resolved(Struct):
    ticket_id: str
    approved: bool
    status: str | None = None
    reason: str | None = None
    message: str | None = None


class _StepStart(Struct):
    step_id: str
    type: str
    description: str | None = None
    inputs: _Map | None = None
    contract_summary: _Tags | None = None
    branch: _Branch | None = None
    idempotency_key: str | None = None
    quiet: bool | None = None


class _StepAttempt(Struct):
    attempt: int | None = None
    reason: str | None = None
    previous: _Previous | None = None
    delay: str | None = None
    detail: _Map | None = None
    contract_summary: _Tags | None = None


class _StepComplete(Struct):
    step_id: str
    status: StepStatus
    type: str | None = None
    inputs: _Map | None = None
    outputs: _Map | None = None
    fields: _Map | None = None
    detail: _Map | None = None
    failure: _Failure | None = None
    approval: _Refusal | None = None
    started: bool | None = None
    outcome: _Outcome | None = None
    reason: str | None = None
    message: str | None = None
    duration: str | None = None
    waited: str | None = None


class _QuestionAsked(Struct):
    step_id: str
    question: _Question
    acted: bool | None = None


class _QuestionAnswered(Struct):
    step_id: str
    name: str
    by: str | None = None
    declined: bool | None = None


class _Pause(Struct):
    step_id: str
    unblock_key: str
    reason: str | None = None
    metadata: _Map | None = None
    acted: bool | None = None


class _Summary(Struct):
    summary_type: str
    payload: _Map | None = None


class _OutcomeResolved(Struct):
    outcome: _Outcome | None = None
    structured_outcome: _Outcome | None = None


class _TimeRead(Struct):
    time: _Time
    interrupted: bool = False

    def __post_init__(self) -> None:
        checked_time(self.time)


class _SleepStart(Struct):
    until: _Time

    def __post_init__(self) -> None:
        checked_time(self.until)


_RUN: Final[dict[str, type[Struct]]] = {
    EventType.RUN_START: RunStart,
    EventType.INPUT_RESOLVED: _InputResolved,
    EventType.RUN_COMPLETE: _RunEnd,
    EventType.RUN_SUSPENDED: _RunEnd,
    EventType.RUN_RESUMED: _RunResumed,
    EventType.OUTCOME_RESOLVED: _OutcomeResolved,
}
_STEP: Final[dict[str, type[Struct]]] = {
    EventType.CONTRACT_EVALUATED: _Contract,
    EventType.GOVERNANCE_DECISION: _Governance,
    EventType.APPROVAL_SUBMITTED: _Submitted,
    EventType.APPROVAL_RESPONSE: _Response,
    EventType.APPROVAL_RESOLVED: _Resolved,
    EventType.STEP_START: _StepStart,
    EventType.STEP_ATTEMPT: _StepAttempt,
    EventType.STEP_COMPLETE: _StepComplete,
    EventType.RUN_SUMMARY: _Summary,
    EventType.QUESTION_ASKED: _QuestionAsked,
    EventType.QUESTION_ANSWERED: _QuestionAnswered,
    EventType.PAUSE_REQUESTED: _Pause,
    EventType.TIME_READ: _TimeRead,
    EventType.SLEEP_START: _SleepStart,
}


def check_shape(event: TraceEvent) -> None:
    """Raise ``ValueError`` when an event, or the data of an event of the core, has a field of another type.

    Everything behind the reader relies on it: a sound chain says who wrote an event last, not that it makes sense.
    """
    texts = type(event.type), type(event.timestamp), type(event.run_id), type(event.prev_hash)
    if texts != (str, str, str, str):
        raise ValueError("type, timestamp, run_id or prev_hash is not a text")
    if type(event.seq) is not int or type(event.data) is not dict:
        raise ValueError("seq is not a number, or data is not an object")
    key, principal = event.step_key, event.principal
    if (key is not None and type(key) is not str) or (principal is not None and type(principal) is not dict):
        raise ValueError("step_key is not a text, or principal is not an object")
    kind = _STEP.get(event.type)
    if kind is not None:
        if not key:
            raise ValueError(f"{event.type} has no step_key")
        convert(event.data, kind)
    elif (kind := _RUN.get(event.type)) is not None:
        convert(event.data, kind)


def required_fields(event_type: str) -> tuple[bool | None, list[str]]:
    """Return whether events of a type belong to a step, and what their data always has; None: they may or may not."""
    shape = _STEP.get(event_type) or _RUN.get(event_type)
    names = [] if shape is None else [one.encode_name for one in fields(shape) if one.required]
    return None if shape is None else event_type in _STEP, names


__all__ = ["check_shape", "required_fields"]
