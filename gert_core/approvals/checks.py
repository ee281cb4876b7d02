"""Check one answer to a ticket: whether it counts, is set aside, or rejects the step."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import ApprovalResponse, ErrorKind
from gert_core.approvals.requests import comparable_id, parse_time, same_approver
from gert_core.approvals.signing import UnverifiedError, verify_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from gert_core.api import ApprovalRequest
    from gert_core.approvals.signing import Schemes

CLOCK_SKEW: Final = timedelta(seconds=30)


class AnswerResult(StrEnum):
    """The effect of one answer on the decision."""

    COUNTED = "counted"
    SET_ASIDE = "set_aside"
    """Traced without effect: another ticket, an approver counted already, the run's own actor."""
    REJECTED = "rejected"


class AnswerAssessment(Struct, frozen=True, kw_only=True):
    """The result of checking one answer; ``breach`` marks a forged, stale or malformed one."""

    result: AnswerResult
    kind: str = ""
    message: str = ""
    verified: bool = False
    breach: bool = False


def assess(
    response: ApprovalResponse,
    request: ApprovalRequest,
    *,
    counted: Set[str],
    actors: Set[str],
    schemes: Schemes,
    environ: Mapping[str, str],
) -> AnswerAssessment:
    """Check one answer, fresh or recorded: nothing else leads to an approval.

    ``counted`` are the approvers (as ``comparable_id``) already counted, ``actors`` the ids of who started the run:
    the one that was claimed, and the operating system's.
    """
    if (fault := _malformed(response)) is not None:
        return AnswerAssessment(
            result=AnswerResult.REJECTED, kind=ErrorKind.APPROVAL_MALFORMED, message=fault, breach=True
        )
    if response.ticket_id != request.ticket_id:
        message = f"the answer is for ticket {response.ticket_id!r}, not for {request.ticket_id!r}"
        return AnswerAssessment(
            result=AnswerResult.SET_ASIDE, kind=ErrorKind.APPROVAL_WRONG_TICKET, message=message, breach=True
        )
    who = response.approver_id
    try:
        verified = _verified(response, request, schemes=schemes, environ=environ)
    except UnverifiedError as error:
        if response.approved:
            message = f"the approval by {who!r} is refused: {error}"
            return AnswerAssessment(result=AnswerResult.REJECTED, kind=error.kind, message=message, breach=True)
        verified = False
    if not response.approved:
        message = f"{who!r} rejected it" + (f": {response.reason}" if response.reason else "")
        return AnswerAssessment(
            result=AnswerResult.REJECTED, kind=ErrorKind.APPROVAL_REJECTED, message=message, verified=verified
        )
    if (late := outside_validity(response, request)) is not None:
        kind, message = late
        return AnswerAssessment(
            result=AnswerResult.REJECTED, kind=kind, message=message, verified=verified, breach=True
        )
    if request.exclude_actor and any(same_approver(who, own) for own in (*actors, request.requested_by) if own):
        message = f"{who!r} started the run and may not approve it"
        return AnswerAssessment(
            result=AnswerResult.SET_ASIDE, kind=ErrorKind.APPROVAL_OWN_ACTOR, message=message, verified=verified
        )
    if comparable_id(who) in counted:
        message = f"{who!r} has approved already and is counted once"
        return AnswerAssessment(
            result=AnswerResult.SET_ASIDE, kind=ErrorKind.APPROVAL_DUPLICATE, message=message, verified=verified
        )
    return AnswerAssessment(result=AnswerResult.COUNTED, verified=verified)


def recount(
    responses: Sequence[Mapping[str, object]],
    request: ApprovalRequest,
    *,
    actors: Set[str],
    schemes: Schemes,
    environ: Mapping[str, str],
) -> str | None:
    """Return why recorded answers do not approve a request; None when they do.

    The trace states that they counted, but anyone who can write to the trace could have written that.
    """
    people: set[str] = set()
    reason = "it has no approval that counts"
    for data in responses:
        if data.get("result") != AnswerResult.COUNTED:
            continue
        response = recorded_response(data)
        checked = assess(response, request, counted=people, actors=actors, schemes=schemes, environ=environ)
        if checked.result is AnswerResult.COUNTED:
            people.add(comparable_id(response.approver_id))
        else:
            reason = checked.message
    return None if len(people) >= request.min_approvers else reason


def recorded_response(data: Mapping[str, object]) -> ApprovalResponse:
    """Return the answer in the data of an ``approval_response`` event."""
    names = ApprovalResponse.__struct_fields__
    facts: dict[str, Any] = {"ticket_id": "", "approved": False, "approver_id": "", "method": "", "timestamp": ""}
    return ApprovalResponse(**facts | {name: data[name] for name in names if name in data})


def _malformed(response: object) -> str | None:
    if not isinstance(response, ApprovalResponse):
        return f"the provider answered with {type(response).__name__} instead of an ApprovalResponse"
    if not isinstance(response.approved, bool):
        return "the answer is neither an approval nor a rejection"
    texts = (response.ticket_id, response.approver_id, response.timestamp)
    if not all(isinstance(text, str) for text in texts) or not comparable_id(response.approver_id):
        return "the answer has no ticket id, no approver id or no timestamp"
    return None


def _verified(
    response: ApprovalResponse, request: ApprovalRequest, *, schemes: Schemes, environ: Mapping[str, str]
) -> bool:
    """Return whether the signature is valid; without a key to verify it, it is ignored unless one is required."""
    if not response.signature and not request.require_signed:
        return False
    try:
        verify_response(response, request_hash=request.request_hash, schemes=schemes, environ=environ)
    except UnverifiedError as error:
        if error.kind == ErrorKind.SIGNATURE_KEY_MISSING and not request.require_signed:
            return False
        raise
    return True


def outside_validity(response: ApprovalResponse, request: ApprovalRequest) -> tuple[str, str] | None:
    """Return kind and reason when an approval was given before its request or after it expired, by its own time."""
    try:
        moment = parse_time(response.timestamp)
    except ValueError as error:
        return ErrorKind.APPROVAL_MALFORMED, f"the answer's timestamp is invalid: {error}"
    if request.created and moment < parse_time(request.created) - CLOCK_SKEW:
        return (
            ErrorKind.APPROVAL_STALE,
            f"the answer of {response.timestamp} is older than its request of {request.created}",
        )
    if request.expires_at and moment > parse_time(request.expires_at):
        return ErrorKind.APPROVAL_TIMEOUT, f"the answer of {response.timestamp} came after the ticket expired"
    return None


__all__ = [
    "CLOCK_SKEW",
    "AnswerAssessment",
    "AnswerResult",
    "assess",
    "outside_validity",
    "recorded_response",
    "recount",
]
