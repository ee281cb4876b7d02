"""What makes one answer to a ticket count, be set aside, or stop the step."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import ApprovalResponse
from gert_core.approvals.requests import parse_time, person, same_person
from gert_core.approvals.signing import Unverified, verify_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from gert_core.api import ApprovalRequest
    from gert_core.approvals.signing import Schemes

CLOCK_SKEW: Final = timedelta(seconds=30)


class Weight(StrEnum):
    """What an answer is worth."""

    COUNTED = "counted"
    SET_ASIDE = "set_aside"
    """Traced, changes nothing: another ticket, an approver heard already, the run's own actor."""
    REJECTED = "rejected"


class AnswerAssessment(Struct, frozen=True, kw_only=True):
    """The desk's view of one answer; ``breach`` marks an answer that pretends to be what it is not."""

    weight: Weight
    kind: str = ""
    message: str = ""
    verified: bool = False
    breach: bool = False


def judge(
    response: ApprovalResponse,
    request: ApprovalRequest,
    *,
    heard: Set[str],
    actor: str,
    schemes: Schemes,
    environ: Mapping[str, str],
) -> AnswerAssessment:
    """Weigh one answer; ``heard`` are the approvers (as ``person``) already counted."""
    if (fault := _malformed(response)) is not None:
        return AnswerAssessment(weight=Weight.REJECTED, kind="approval_malformed", message=fault, breach=True)
    if response.ticket_id != request.ticket_id:
        message = f"the answer is for ticket {response.ticket_id!r}, not for {request.ticket_id!r}"
        return AnswerAssessment(weight=Weight.SET_ASIDE, kind="approval_wrong_ticket", message=message, breach=True)
    who = response.approver_id
    try:
        verified = _verified(response, request, schemes=schemes, environ=environ)
    except Unverified as problem:
        if response.approved:
            message = f"the approval by {who!r} is refused: {problem}"
            return AnswerAssessment(weight=Weight.REJECTED, kind=problem.kind, message=message, breach=True)
        verified = False
    if not response.approved:
        message = f"{who!r} rejected it" + (f": {response.reason}" if response.reason else "")
        return AnswerAssessment(weight=Weight.REJECTED, kind="approval_rejected", message=message, verified=verified)
    if (late := _out_of_time(response, request)) is not None:
        kind, message = late
        return AnswerAssessment(weight=Weight.REJECTED, kind=kind, message=message, verified=verified, breach=True)
    if request.exclude_actor and any(same_person(who, own) for own in (actor, request.requested_by) if own):
        message = f"{who!r} started the run and may not approve it"
        return AnswerAssessment(weight=Weight.SET_ASIDE, kind="approval_own_actor", message=message, verified=verified)
    if person(who) in heard:
        message = f"{who!r} has approved already and counts once"
        return AnswerAssessment(weight=Weight.SET_ASIDE, kind="approval_duplicate", message=message, verified=verified)
    return AnswerAssessment(weight=Weight.COUNTED, verified=verified)


def unverified(
    responses: Sequence[Mapping[str, Any]],
    request: ApprovalRequest,
    *,
    schemes: Schemes,
    environ: Mapping[str, str],
) -> str | None:
    """Why recorded answers do not approve a request that takes signed ones only; None when they do.

    A trace says that they were verified, but whoever can write to the trace could have written that.
    """
    people: set[str] = set()
    reason = "it holds no signed approval"
    for data in responses:
        response = recorded_response(data)
        if data.get("result") != Weight.COUNTED or not response.approved or response.ticket_id != request.ticket_id:
            continue
        try:
            verify_response(response, request_hash=request.request_hash, schemes=schemes, environ=environ)
        except Unverified as problem:
            reason = str(problem)
        else:
            people.add(person(response.approver_id))
    return None if len(people) >= request.min_approvers else reason


def recorded_response(data: Mapping[str, Any]) -> ApprovalResponse:
    """The answer inside the data of an ``approval_response`` event."""
    names = ApprovalResponse.__struct_fields__
    facts: dict[str, Any] = {"ticket_id": "", "approved": False, "approver_id": "", "method": "", "timestamp": ""}
    return ApprovalResponse(**facts | {name: data[name] for name in names if name in data})


def _malformed(response: Any) -> str | None:
    if not isinstance(response, ApprovalResponse):
        return f"the provider answered with {type(response).__name__} instead of an ApprovalResponse"
    if not isinstance(response.approved, bool):
        return "the answer says neither yes nor no"
    texts = (response.ticket_id, response.approver_id, response.timestamp)
    if not all(isinstance(text, str) for text in texts) or not person(response.approver_id):
        return "the answer names no ticket, no approver or no time"
    return None


def _verified(
    response: ApprovalResponse, request: ApprovalRequest, *, schemes: Schemes, environ: Mapping[str, str]
) -> bool:
    """Whether the signature holds; one that cannot be checked is passed over only if none is required."""
    if not response.signature and not request.require_signed:
        return False
    try:
        verify_response(response, request_hash=request.request_hash, schemes=schemes, environ=environ)
    except Unverified as problem:
        if problem.kind == "signature_key_missing" and not request.require_signed:
            return False
        raise
    return True


def _out_of_time(response: ApprovalResponse, request: ApprovalRequest) -> tuple[str, str] | None:
    try:
        moment = parse_time(response.timestamp)
    except ValueError as error:
        return "approval_malformed", f"the answer's time cannot be read: {error}"
    if request.created and moment < parse_time(request.created) - CLOCK_SKEW:
        return "approval_stale", f"the answer of {response.timestamp} is older than its request"
    if request.expires_at and moment > parse_time(request.expires_at):
        return "approval_timeout", f"the answer of {response.timestamp} came after the ticket expired"
    return None


__all__ = ["CLOCK_SKEW", "AnswerAssessment", "Weight", "judge", "recorded_response", "unverified"]
