"""The desk settles one approval request: it submits, listens, checks every answer and traces it all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api import ApprovalResponse, ApprovalTicket, GertError, Principal, StepProblem
from gert_core.approvals.checks import AnswerAssessment, Weight, judge, recorded_response
from gert_core.approvals.requests import parse_time, person
from gert_core.approvals.signing import Unverified, verify_response
from gert_core.approvals.waiting import UntilExpiry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gert_core.api import ApprovalRequest, ApprovalSession, Deadline
    from gert_core.approvals.signing import Schemes

    Emit = Callable[[str, Mapping[str, Any], Mapping[str, Any] | None], None]

MAX_SET_ASIDE: Final = 100
"""A provider that keeps sending answers that cannot count would fill the trace without end."""


class ApprovalDecision(Struct, frozen=True, kw_only=True):
    """How a request came out: ``approved``, ``rejected`` or ``pending``.

    ``reason`` is a stable word (``approval_rejected``, ``approval_timeout``, ``signature_wrong`` ...),
    ``message`` the sentence for people, ``responses`` every answer heard in this process.
    """

    status: str
    reason: str = ""
    message: str = ""
    approvers: tuple[str, ...] = ()
    responses: tuple[ApprovalResponse, ...] = ()


class _Hearing(Struct):
    """What is known about one request while it is being settled."""

    request: ApprovalRequest
    approvers: dict[str, str] = field(default_factory=dict)
    known: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    heard: list[ApprovalResponse] = field(default_factory=list)
    last: ApprovalResponse | None = None
    verified: bool = True
    set_aside: int = 0


class ApprovalProcess:
    """Settles requests over one opened provider.

    ``emit(type, data, principal)`` adds a trace event, ``sync()`` puts everything added on disk, ``schemes``
    finds a signature scheme by its algorithm, ``now`` is the run's clock, ``actor`` who started the run.
    """

    def __init__(
        self,
        *,
        session: ApprovalSession,
        blocking: bool,
        emit: Emit,
        sync: Callable[[], None],
        schemes: Schemes,
        environ: Mapping[str, str],
        now: Callable[[], datetime],
        actor: str,
    ) -> None:
        self._session = session
        self._blocking = blocking
        self._emit = emit
        self._sync = sync
        self._schemes = schemes
        self._environ = environ
        self._now = now
        self._actor = actor

    def settle(
        self,
        request: ApprovalRequest,
        *,
        deadline: Deadline,
        submitted: bool = False,
        recorded: Sequence[Mapping[str, Any]] = (),
    ) -> ApprovalDecision:
        """Bring one request to its end, or to ``pending`` when the provider has no answer yet.

        After a resume ``submitted`` says that ``approval_submitted`` is in the trace and ``recorded`` are the
        data of its ``approval_response`` events, so that nobody is counted or written down twice.
        """
        hearing = _Hearing(request)
        if not submitted:
            self._emit("approval_submitted", _submission(request), _person(request.requested_by or self._actor))
        for data in recorded:
            if (settled := self._recall(hearing, data)) is not None:
                return settled
        if len(hearing.approvers) >= request.min_approvers:
            return self._resolve(hearing, approved=True)
        self._sync()
        expires = parse_time(request.expires_at) if request.expires_at else None
        waiting = UntilExpiry(deadline, expires=expires, now=self._now)
        ticket = self._call("submit", lambda: self._session.submit(request))
        if not isinstance(ticket, ApprovalTicket) or ticket.ticket_id != request.ticket_id:
            raise StepProblem("approval_provider", "the approval provider answered submit with another ticket")
        while True:
            response = self._call("wait", lambda: self._session.wait(ticket, waiting))
            if response is None:
                return self._silence(hearing, waiting)
            if (settled := self._hear(hearing, response)) is not None:
                return settled
            self._sync()

    def _recall(self, hearing: _Hearing, data: Mapping[str, Any]) -> ApprovalDecision | None:
        """Take an answer over from the trace; its verdict stands, if its signature (where one is needed) does."""
        response = recorded_response(data)
        hearing.known[_identity(response)] += 1
        hearing.last = response
        weight = data.get("result")
        if weight == Weight.COUNTED:
            if hearing.request.require_signed:
                try:
                    self._verify(response, hearing.request)
                except Unverified as problem:
                    message = f"the approval by {response.approver_id!r} in the trace is refused: {problem}"
                    return self._resolve(hearing, approved=False, reason=problem.kind, message=message)
            hearing.approvers[person(response.approver_id)] = response.approver_id
            hearing.verified = hearing.verified and bool(data.get("verified"))
        elif weight == Weight.REJECTED:
            return self._resolve(
                hearing,
                approved=False,
                reason=str(data.get("problem") or "approval_rejected"),
                message=str(data.get("message") or "the answer in the trace is a rejection"),
            )
        return None

    def _verify(self, response: ApprovalResponse, request: ApprovalRequest) -> None:
        verify_response(response, request_hash=request.request_hash, schemes=self._schemes, environ=self._environ)

    def _hear(self, hearing: _Hearing, response: ApprovalResponse) -> ApprovalDecision | None:
        """Weigh one answer and write it down; a result when it settles the request."""
        request = hearing.request
        if isinstance(response, ApprovalResponse) and hearing.known[_identity(response)] > 0:
            hearing.known[_identity(response)] -= 1
            return None
        verdict = judge(
            response,
            request,
            heard=hearing.approvers.keys(),
            actor=self._actor,
            schemes=self._schemes,
            environ=self._environ,
        )
        self._record(request, response, verdict)
        if not isinstance(response, ApprovalResponse):
            return self._resolve(hearing, approved=False, reason=verdict.kind, message=verdict.message)
        hearing.heard.append(response)
        if verdict.weight is Weight.SET_ASIDE:
            hearing.set_aside += 1
            if hearing.set_aside < MAX_SET_ASIDE:
                return None
            message = f"{MAX_SET_ASIDE} answers in a row could not count"
            return self._resolve(hearing, approved=False, reason="approval_unusable", message=message)
        hearing.last = response
        hearing.verified = hearing.verified and verdict.verified
        if verdict.weight is Weight.REJECTED:
            return self._resolve(hearing, approved=False, reason=verdict.kind, message=verdict.message)
        hearing.approvers[person(response.approver_id)] = response.approver_id
        if len(hearing.approvers) >= request.min_approvers:
            return self._resolve(hearing, approved=True)
        return None

    def _silence(self, hearing: _Hearing, waiting: UntilExpiry) -> ApprovalDecision:
        """Nobody answers: expired, still open, or a blocking provider that gave up."""
        if waiting.cancelled:
            return self._pending(hearing, "cancelled")
        if waiting.expired:
            hearing.last = None
            return self._resolve(
                hearing,
                approved=False,
                reason="approval_timeout",
                message=f"nobody settled it before {hearing.request.expires_at}",
                expired=True,
            )
        if not self._blocking or waiting.stopped:
            return self._pending(hearing, "approval_pending")
        hearing.last = None
        return self._resolve(
            hearing,
            approved=False,
            reason="approval_no_answer",
            message="nobody answered: the input ended, or nobody can be asked here",
        )

    def _record(self, request: ApprovalRequest, response: ApprovalResponse, verdict: AnswerAssessment) -> None:
        known = isinstance(response, ApprovalResponse)
        data: dict[str, Any] = response.to_json() if known else {"ticket_id": request.ticket_id}
        data |= {"step_id": request.step_id, "result": str(verdict.weight), "verified": verdict.verified}
        if verdict.kind:
            data |= {"problem": verdict.kind, "message": verdict.message}
        self._emit("approval_response", data, _person(response.approver_id if known else ""))
        if verdict.breach:
            violation = {
                "step_id": request.step_id,
                "ticket_id": request.ticket_id,
                "kind": verdict.kind,
                "message": verdict.message,
                "severity": "error",
            }
            self._emit("contract_violation", violation, None)

    def _resolve(
        self, hearing: _Hearing, *, approved: bool, reason: str = "", message: str = "", expired: bool = False
    ) -> ApprovalDecision:
        approvers = tuple(hearing.approvers.values())
        last = hearing.last
        data: dict[str, Any] = {
            "ticket_id": hearing.request.ticket_id,
            "step_id": hearing.request.step_id,
            "approved": approved,
            "status": "approved" if approved else "expired" if expired else "rejected",
            "approver_id": last.approver_id if last else None,
            "method": last.method if last else None,
            "verified": last is not None and hearing.verified,
            "approvers": list(approvers),
        }
        if last is not None and last.signature:
            data["signature"] = last.signature
        if not approved:
            data |= {"reason": reason, "message": message}
        self._emit("approval_resolved", data, _person(last.approver_id if last else ""))
        return ApprovalDecision(
            status="approved" if approved else "rejected",
            reason=reason,
            message=message,
            approvers=approvers,
            responses=tuple(hearing.heard),
        )

    def _pending(self, hearing: _Hearing, reason: str) -> ApprovalDecision:
        self._sync()
        return ApprovalDecision(
            status="pending",
            reason=reason,
            message=f"ticket {hearing.request.ticket_id} waits for an answer",
            approvers=tuple(hearing.approvers.values()),
            responses=tuple(hearing.heard),
        )

    def _call(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (GertError, StepProblem):
            raise
        except Exception as error:
            raise StepProblem(
                "approval_provider",
                f"the approval provider failed in {what}: {type(error).__name__}: {error}",
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
    }


def _person(approver_id: str) -> dict[str, str]:
    """Who an approval event is attributed to; the kernel when no person is known."""
    return (Principal(kind="human", id=approver_id) if approver_id else Principal()).to_json()


def _identity(response: ApprovalResponse) -> tuple[Any, ...]:
    """What makes two answers the same one; the free text is left out because the trace holds it masked."""
    return response.ticket_id, response.approved, response.approver_id, response.timestamp, response.signature


__all__ = ["ApprovalDecision", "ApprovalProcess"]
