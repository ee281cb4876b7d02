"""Decide approval requests: submit each to the provider, check every answer, and trace both."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api import ApprovalResponse, ApprovalTicket, ErrorKind, EventType, GertError, Principal, StepProblem
from gert_core.approvals.checks import (
    UNSEALED,
    AnswerAssessment,
    AnswerResult,
    Tally,
    assess,
    mark_of,
    recorded_response,
)
from gert_core.approvals.deadline import TicketDeadline
from gert_core.approvals.hidden_names import without_secrets
from gert_core.approvals.seals import SEAL, seal_of
from gert_core.governance.people import is_agent
from gert_core.kit.times import parse_time
from gert_core.plugin.loader import saying

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gert_core.api import ApprovalRequest, ApprovalSession, Deadline
    from gert_core.approvals.checks import Approvals

    Emit = Callable[[str, Mapping[str, Any], Mapping[str, Any] | None], None]

_TEXTS: Final = ("approver_id", "method", "signature")
"""What ``approval_resolved`` has of an answer as the provider gave it; anything but text is left out."""
_FIELDS: Final = {"approved": bool, "identity": dict, "uid": int}
MAX_SET_ASIDE: Final = 100
"""The number of answers without effect that is accepted, so that a provider cannot fill the trace without end."""


class ApprovalDecision(Struct, frozen=True, kw_only=True):
    """The decision about a request: ``approved``, ``rejected`` or ``pending``.

    ``reason`` is a stable word (``approval_rejected``, ``approval_timeout``, ``signature_wrong`` ...),
    ``message`` a sentence for people, ``responses`` every answer received in this process.
    """

    status: str
    reason: str = ""
    message: str = ""
    approvers: tuple[str, ...] = ()
    responses: tuple[ApprovalResponse, ...] = ()


class _RequestState(Struct):
    """The state of one request until it is decided."""

    request: ApprovalRequest
    tally: Tally = field(default_factory=Tally)
    known: Counter[tuple[object, ...]] = field(default_factory=Counter)
    answers: list[ApprovalResponse] = field(default_factory=list)
    last: ApprovalResponse | None = None
    verified: bool = True
    set_aside: int = 0


class ApprovalProcess:
    """The decisions about requests that are made over one opened provider.

    ``emit(type, data, principal)`` adds a trace event, ``sync()`` puts everything added on disk, ``now`` is the
    run's clock, ``known`` what answers are checked against; ``submitted`` is told of a request that the provider has.
    ``refused`` gives kind and message of a refusal that a scenario has instead of an answer, ``aside`` is told why an
    answer has no effect.
    """

    def __init__(
        self,
        *,
        session: ApprovalSession,
        blocking: bool,
        emit: Emit,
        sync: Callable[[], None],
        now: Callable[[], datetime],
        known: Approvals,
        submitted: Callable[[ApprovalRequest], None] = lambda _: None,
        refused: Callable[[], tuple[str, str] | None] = lambda: None,
        aside: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._blocking = blocking
        self._emit = emit
        self._sync = sync
        self._now = now
        self._known = known
        self._submitted = submitted
        self._refused = refused
        self._aside = aside

    def decide(
        self,
        request: ApprovalRequest,
        *,
        deadline: Deadline,
        submitted: bool = False,
        recorded: Sequence[Mapping[str, object]] = (),
    ) -> ApprovalDecision:
        """Return the decision about one request; ``pending`` when the provider has no answer yet.

        After a resume ``submitted`` is true when ``approval_submitted`` is in the trace, and ``recorded`` are the
        data of its ``approval_response`` events, so that no answer is counted or written twice.
        """
        state = _RequestState(request)
        if not submitted:
            self._emit(EventType.APPROVAL_SUBMITTED, _submission(request), _principal(request.requested_by))
        for data in recorded:
            if (decision := self._add_recorded(state, data)) is not None:
                return decision
        if len(state.tally.approvers) >= request.min_approvers:
            return self._resolve(state, approved=True)
        self._sync()
        expires = parse_time(request.expires_at) if request.expires_at else None
        waiting = TicketDeadline(deadline, expires=expires, now=self._now)
        ticket = self._call("submit", lambda: self._session.submit(request))
        if not isinstance(ticket, ApprovalTicket) or ticket.ticket_id != request.ticket_id:
            raise StepProblem(ErrorKind.APPROVAL_PROVIDER, "the approval provider answered submit with another ticket")
        self._submitted(request)
        while True:
            response = self._call("wait", lambda: self._session.wait(ticket, waiting))
            if response is None:
                return self._without_answer(state, waiting)
            if (decision := self._add_answer(state, response)) is not None:
                return decision
            self._sync()

    def find_rejection(
        self, request: ApprovalRequest, *, deadline: Deadline, recorded: Sequence[Mapping[str, object]] = ()
    ) -> ApprovalDecision | None:
        """Return and trace a rejection of a request that is about to become void; other answers to it have no effect.

        What it asked for changed, but a rejection is final for its run, also when no process has read it so far.
        """
        state = _RequestState(request)
        for data in recorded:
            if data.get("result") == AnswerResult.REJECTED:
                return self._add_recorded(state, data)
        ticket = ApprovalTicket(ticket_id=request.ticket_id, created=request.created)
        for _ in range(MAX_SET_ASIDE):
            try:
                response = self._call("wait", lambda: self._session.wait(ticket, deadline))
            except StepProblem:
                break  # not every provider knows tickets of an earlier process; the step is asked about anew
            if response is None:
                break
            if isinstance(response, ApprovalResponse) and response.approved is False:
                assessment = assess(response, request, self._known, tally=state.tally)
                if assessment.kind == ErrorKind.APPROVAL_REJECTED:
                    return self._add_answer(state, response)
        return None

    def _add_recorded(self, state: _RequestState, data: Mapping[str, object]) -> ApprovalDecision | None:
        """Add an answer from the trace with its recorded result; a required signature is verified again."""
        response = recorded_response(data)
        state.known[mark_of(response)] += 1
        state.last = response
        result = data.get("result")
        if result == AnswerResult.COUNTED:
            assessment = assess(response, state.request, self._known, tally=state.tally)
            if not self._known.is_sealed(data, state.request):
                kind = ErrorKind.APPROVAL_UNVERIFIED
                assessment = AnswerAssessment(result=AnswerResult.REJECTED, kind=kind, message=UNSEALED)
            if assessment.result is not AnswerResult.COUNTED:
                message = f"the approval by {response.approver_id!r} in the trace is refused: {assessment.message}"
                return self._resolve(state, approved=False, reason=assessment.kind, message=message)
            state.tally.add(response, assessment)
            state.verified = state.verified and assessment.verified
        elif result == AnswerResult.REJECTED:
            return self._resolve(
                state,
                approved=False,
                reason=str(data.get("problem") or ErrorKind.APPROVAL_REJECTED),
                message=str(data.get("message") or "the answer in the trace is a rejection"),
            )
        return None

    def _add_answer(self, state: _RequestState, response: ApprovalResponse) -> ApprovalDecision | None:
        """Check one answer and trace it; return a decision when it decides the request."""
        request = state.request
        if isinstance(response, ApprovalResponse):
            response = without_secrets(response, request, self._known)
            if state.known[mark_of(response)] > 0:
                state.known[mark_of(response)] -= 1
                return None
        assessment = assess(response, request, self._known, tally=state.tally)
        self._record(request, response, assessment)
        if not isinstance(response, ApprovalResponse):
            return self._resolve(state, approved=False, reason=assessment.kind, message=assessment.message)
        state.answers.append(response)
        if assessment.result is AnswerResult.SET_ASIDE:
            state.set_aside += 1
            self._aside(assessment.message)
            if state.set_aside < MAX_SET_ASIDE:
                return None
            message = f"{MAX_SET_ASIDE} answers had no effect"
            return self._resolve(state, approved=False, reason=ErrorKind.APPROVAL_UNUSABLE, message=message)
        state.last = response
        state.verified = state.verified and assessment.verified
        if assessment.result is AnswerResult.REJECTED:
            return self._resolve(state, approved=False, reason=assessment.kind, message=assessment.message)
        state.tally.add(response, assessment)
        if len(state.tally.approvers) >= request.min_approvers:
            return self._resolve(state, approved=True)
        return None

    def _without_answer(self, state: _RequestState, waiting: TicketDeadline) -> ApprovalDecision:
        """Decide without an answer: the ticket expired, is still open, or a blocking provider gave up."""
        if waiting.cancelled:
            return self._pending(state, "cancelled")
        if (refused := self._refused()) is not None:
            kind, message = refused
            state.last = None
            expired = kind == ErrorKind.APPROVAL_TIMEOUT
            return self._resolve(state, approved=False, reason=kind, message=message, expired=expired)
        if waiting.expired:
            state.last = None
            return self._resolve(
                state,
                approved=False,
                reason=ErrorKind.APPROVAL_TIMEOUT,
                message=f"the ticket expired at {state.request.expires_at} without a decision",
                expired=True,
            )
        if not self._blocking or waiting.stopped:
            return self._pending(state, "approval_pending")
        state.last = None
        return self._resolve(
            state,
            approved=False,
            reason=ErrorKind.APPROVAL_NO_ANSWER,
            message="no answer: the input ended, or questions cannot be asked here",
        )

    def _record(self, request: ApprovalRequest, response: ApprovalResponse, assessment: AnswerAssessment) -> None:
        known = isinstance(response, ApprovalResponse)
        given = response.to_json().items() if known else ()
        data: dict[str, object] = {"ticket_id": request.ticket_id}
        # Readers of the trace rely on the types of its fields: what a provider gave instead is told in the message.
        data |= {name: value for name, value in given if isinstance(value, _FIELDS.get(name, str))}
        data |= {"step_id": request.step_id, "result": str(assessment.result), "verified": assessment.verified}
        if assessment.kind:
            data |= {"problem": assessment.kind, "message": assessment.message}
        if assessment.result is AnswerResult.COUNTED:
            self._seal(data, request)
        self._emit(EventType.APPROVAL_RESPONSE, data, _principal(data.get("approver_id")))
        if assessment.breach:
            violation = {
                "step_id": request.step_id,
                "ticket_id": request.ticket_id,
                "kind": assessment.kind,
                "message": assessment.message,
                "severity": "error",
            }
            self._emit(EventType.CONTRACT_VIOLATION, violation, None)

    def _seal(self, data: dict[str, object], request: ApprovalRequest) -> None:
        """Add a seal, in a signed run."""
        if self._known.sign is not None:
            data[SEAL] = seal_of(data, run_id=request.run_id, request_hash=request.request_hash, sign=self._known.sign)

    def _resolve(
        self, state: _RequestState, *, approved: bool, reason: str = "", message: str = "", expired: bool = False
    ) -> ApprovalDecision:
        approvers = tuple(state.tally.approvers.values())
        last = state.last
        data: dict[str, object] = {
            "ticket_id": state.request.ticket_id,
            "step_id": state.request.step_id,
            "approved": approved,
            "status": "approved" if approved else "expired" if expired else "rejected",
            "approver_id": last.approver_id if last else None,
            "method": last.method if last else None,
            "verified": last is not None and state.verified,
            "approvers": list(approvers),
        }
        if last is not None and last.signature:
            data["signature"] = last.signature
        data = {name: value for name, value in data.items() if name not in _TEXTS or isinstance(value, str | None)}
        if not approved:
            data |= {"reason": reason, "message": message}
        self._seal(data, state.request)
        self._emit(EventType.APPROVAL_RESOLVED, data, _principal(last.approver_id if last else ""))
        return ApprovalDecision(
            status="approved" if approved else "rejected",
            reason=reason,
            message=message,
            approvers=approvers,
            responses=tuple(state.answers),
        )

    def _pending(self, state: _RequestState, reason: str) -> ApprovalDecision:
        self._sync()
        return ApprovalDecision(
            status="pending",
            reason=reason,
            message=f"ticket {state.request.ticket_id} waits for an answer",
            approvers=tuple(state.tally.approvers.values()),
            responses=tuple(state.answers),
        )

    def _call(self, what: str, call: Callable[[], object]) -> Any:
        try:
            return call()
        except (GertError, StepProblem):
            raise
        except Exception as error:
            raise StepProblem(
                ErrorKind.APPROVAL_PROVIDER,
                f"the approval provider failed in {what}: {saying(error)}",
            ) from error


def _submission(request: ApprovalRequest) -> dict[str, Any]:
    return {
        "ticket_id": request.ticket_id,
        "step_id": request.step_id,
        "risk_level": request.risk_level,
        "min_approvers": request.min_approvers,
        "created": request.created,
        "expires_at": request.expires_at,
        "request_hash": request.request_hash,
        "generation": request.generation,
        "request": request.document,
    }


def _principal(approver_id: object) -> dict[str, str]:
    """Return the principal of an approval event: a person, an agent, or the kernel when neither is known."""
    if not isinstance(approver_id, str) or not approver_id:
        return Principal().to_json()
    if is_agent(approver_id):
        return Principal(kind="agent", id=approver_id.partition(":")[2].strip() or approver_id).to_json()
    return Principal(kind="human", id=approver_id).to_json()


__all__ = ["ApprovalDecision", "ApprovalProcess"]
