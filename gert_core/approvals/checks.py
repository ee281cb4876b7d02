"""Check one answer to a ticket: whether it counts, is set aside, or rejects the step."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import asdict

from gert_core.api import ApprovalResponse, ErrorKind, RunError
from gert_core.approvals.requests import comparable_id
from gert_core.approvals.seals import is_sealed
from gert_core.approvals.signing import UnverifiedError, signing_key_of, verify_response
from gert_core.governance.mapping import is_mapped
from gert_core.governance.people import NO_PEOPLE, id_fault, is_agent, space_of
from gert_core.kit.excerpts import shorten
from gert_core.kit.times import parse_time
from gert_core.kit.wire import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gert_core.api import ApprovalRequest
    from gert_core.approvals.seals import Sign
    from gert_core.approvals.signing import Schemes
    from gert_core.governance.people import People, Person
    from gert_core.keys import Key

CLOCK_SKEW: Final = timedelta(seconds=30)
_SHOWN: Final = 80
UNSEALED: Final = "the run is signed, and the answer was not sealed with its key"


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
    key: bytes | None = None
    """The personal key that signed it."""
    person: str = ""
    """Whose answer it is, as a comparable id: that of the person whom a policy declares, else the approver's own."""


class Approvals(Struct, frozen=True, kw_only=True):
    """What the answers to a request are checked against, besides the request itself.

    ``actors`` are the ids of who started the run: the one that was claimed, and the operating system's. ``changed_by``
    are those of each person who decided what it executes later, by resuming it with changed documents or results.
    """

    actors: frozenset[str]
    changed_by: tuple[frozenset[str], ...] = ()
    schemes: Schemes
    environ: Mapping[str, str]
    people: People = NO_PEOPLE
    sign: Sign | None = None
    """Signs with the key of the trace; in a signed run only answers sealed with it count from the trace."""
    secrets_in: Callable[[str], int] = lambda _: 0
    """The number of secrets of the run in a text."""

    def is_sealed(self, data: Mapping[str, object], request: ApprovalRequest) -> bool:
        """Return whether recorded data may be believed as far as the run's key tells."""
        if self.sign is None:
            return True
        return is_sealed(data, run_id=request.run_id, request_hash=request.request_hash, sign=self.sign)


class Tally(Struct):
    """The approvals that count so far: approvers by person, and the personal keys that signed."""

    approvers: dict[str, str] = field(default_factory=dict)
    keys: set[bytes] = field(default_factory=set)

    def add(self, response: ApprovalResponse, assessment: AnswerAssessment) -> None:
        """Count an approval."""
        self.approvers[assessment.person] = response.approver_id
        if assessment.key is not None:
            self.keys.add(assessment.key)


def assess(response: ApprovalResponse, request: ApprovalRequest, known: Approvals, *, tally: Tally) -> AnswerAssessment:
    """Check one answer, fresh or recorded: nothing else leads to an approval."""
    if (fault := _malformed(response)) is not None:
        return AnswerAssessment(
            result=AnswerResult.REJECTED, kind=ErrorKind.APPROVAL_MALFORMED, message=fault, breach=True
        )
    if response.ticket_id != request.ticket_id:
        message = f"the answer is for ticket {response.ticket_id!r}, not for {request.ticket_id!r}"
        return _aside(ErrorKind.APPROVAL_WRONG_TICKET, message, breach=True)
    who = response.approver_id
    if not response.approved:
        return _rejection(response, request, known)
    if (fault := id_fault(who)) is not None:
        message = f"{shorten(who, _SHOWN)!a} cannot be an approver's id: it {fault}"
        return _aside(ErrorKind.APPROVAL_MALFORMED, message, breach=True)
    meant = known.people.meant_by(who)
    if len(meant) > 1:
        names = ", ".join(repr(person.id) for person in meant)
        return _aside(ErrorKind.APPROVER_UNKNOWN, f"{who!r} may be each of {names}", breach=True)
    person = meant[0] if meant else None
    counted = comparable_id(who if person is None else person.id)
    if (stranger := _stranger(response, request, known, {comparable_id(who), counted})) is not None:
        return stranger
    key: Key | None = None
    verified = False
    if (person is not None and person.keys) or _only_keys(request, known):
        key, verified = _personal(response, request, known, person)
        if not verified:
            message = f"the approval by {who!r} is not signed by a key that a policy gives to {who!r}"
            return _aside(ErrorKind.KEY_NOT_PERSONAL, message, breach=True)
    else:
        try:
            verified = _verified(response, request, known)
        except UnverifiedError as error:
            message = f"the approval by {who!r} is refused: {error}"
            return AnswerAssessment(result=AnswerResult.REJECTED, kind=error.kind, message=message, breach=True)
    late = outside_validity(response, request) or (None if verified else _written_late(response, request))
    if late is not None:
        kind, message = late
        return AnswerAssessment(
            result=AnswerResult.REJECTED, kind=kind, message=message, verified=verified, breach=True
        )
    if request.exclude_actor and _is_actor(response, (*known.actors, request.requested_by), known.people):
        message = f"{who!r} started the run and may not approve it"
        return _aside(ErrorKind.APPROVAL_OWN_ACTOR, message, verified=verified)
    if request.exclude_actor and _is_actor(response, frozenset().union(*known.changed_by), known.people):
        message = f"{who!r} resumed the run with changes of their own and may not approve it"
        return _aside(ErrorKind.APPROVAL_OWN_ACTOR, message, verified=verified)
    if counted in tally.approvers or (key is not None and key.data in tally.keys):
        message = f"{who!r} has approved already and is counted once"
        return _aside(ErrorKind.APPROVAL_DUPLICATE, message, verified=verified)
    signed = None if key is None else key.data
    return AnswerAssessment(result=AnswerResult.COUNTED, verified=verified, key=signed, person=counted)


def _aside(kind: str, message: str, *, verified: bool = False, breach: bool = False) -> AnswerAssessment:
    return AnswerAssessment(result=AnswerResult.SET_ASIDE, kind=kind, message=message, verified=verified, breach=breach)


def _rejection(response: ApprovalResponse, request: ApprovalRequest, known: Approvals) -> AnswerAssessment:
    try:
        verified = _verified(response, request, known)
    except UnverifiedError:
        verified = False
    message = f"{response.approver_id!r} rejected it" + (f": {response.reason}" if response.reason else "")
    return AnswerAssessment(
        result=AnswerResult.REJECTED, kind=ErrorKind.APPROVAL_REJECTED, message=message, verified=verified
    )


def _only_keys(request: ApprovalRequest, known: Approvals) -> bool:
    """Return whether no answer counts but one that policies can attribute: by a declared key.

    Otherwise somebody whom no policy declares would count with a key that the person who resumes the run chose.
    """
    return known.people.personal_keys or (request.require_signed and known.people.have_keys)


def _stranger(
    response: ApprovalResponse, request: ApprovalRequest, known: Approvals, names: set[str]
) -> AnswerAssessment | None:
    """Set aside an approval by an agent, by an identity of no person, or by somebody the rule does not name."""
    who, people = response.approver_id, known.people
    named = not names.isdisjoint(comparable_id(name) for name in request.approvers)
    if is_agent(who) and not named:
        return _aside(ErrorKind.APPROVAL_AGENT, f"{who!r} is an agent, and no rule names it as an approver")
    if response.identity is not None:
        person = people.with_identity(*identity_of(response.identity))
        if person is None or comparable_id(person.id) != comparable_id(who):
            message = f"no policy says that {who!r} is {'/'.join(identity_of(response.identity))}"
            return _aside(ErrorKind.APPROVER_UNKNOWN, message)
        if request.exclude_actor and not all(is_mapped(people, ids) for ids in (known.actors, *known.changed_by)):
            message = f"no policy says which person started or changed the run, so {who!r} may be the same"
            return _aside(ErrorKind.APPROVER_UNKNOWN, message)
    if request.approvers and not named:
        message = f"{who!r} is not one of those who may approve it: {', '.join(request.approvers)}"
        return _aside(ErrorKind.APPROVAL_NOT_ALLOWED, message)
    return None


def _personal(
    response: ApprovalResponse, request: ApprovalRequest, known: Approvals, person: Person | None
) -> tuple[Key | None, bool]:
    """Return the person's key that signed, and whether the answer is theirs: by it, or by a bridge that may answer."""
    if person is None:
        return None, False

    def signed_by(keys: Iterable[Key]) -> Key | None:
        return signing_key_of(response, request_hash=request.request_hash, schemes=known.schemes, keys=keys)

    key = signed_by(person.keys)
    if key is not None or known.people.personal_keys or response.identity is None:
        return key, key is not None
    return None, signed_by(known.people.bridges.get(response.identity.get("provider", ""), ())) is not None


def _is_actor(response: ApprovalResponse, actors: Iterable[str], people: People) -> bool:
    """Return whether the approver is one of these actors, under whichever of their names."""
    acted = {name for own in actors if own for name in people.known_as(own)}
    return not acted.isdisjoint(people.known_as(response.approver_id))


def identity_of(identity: Mapping[str, str]) -> tuple[str, str]:
    """Return space and id of an identity: ``("slack", "T1/U1")``; of a bridge without a space of its own, ``login``.

    The space of one that names no provider is "", in which no person is; one that is not all text raises ``RunError``.
    """
    given: object = identity
    if not isinstance(given, Mapping) or not all(_is_text(one) for pair in given.items() for one in pair):
        message = "the identity of an answer must be a mapping with texts only: provider, tenant, user"
        raise RunError(message, kind=ErrorKind.APPROVAL_MALFORMED, hint="nothing was written; pass ids as text")
    provider, parts = identity.get("provider", ""), [identity.get("tenant"), identity.get("user")]
    return space_of(provider) if provider else "", "/".join(part for part in parts if part)


def _is_text(value: object) -> bool:
    """Return whether a value is text that can be written: half of a surrogate pair is what cannot."""
    return isinstance(value, str) and as_text(value) == value


def recount(
    responses: Sequence[Mapping[str, object]], request: ApprovalRequest, known: Approvals
) -> tuple[tuple[str, ...], str | None]:
    """Return who approved by recorded answers, and why these do not approve a request; None when they do.

    The trace states that they counted, but anyone who can write to the trace could have written that.
    """
    tally = Tally()
    reason = "it has no approval that counts"
    for data in responses:
        if data.get("result") != AnswerResult.COUNTED:
            continue
        if not known.is_sealed(data, request):
            reason = UNSEALED
            continue
        response = recorded_response(data)
        checked = assess(response, request, known, tally=tally)
        if checked.result is AnswerResult.COUNTED:
            tally.add(response, checked)
        else:
            reason = checked.message
    approvers = tuple(tally.approvers.values())
    return approvers, None if len(approvers) >= request.min_approvers else reason


def mark_of(response: ApprovalResponse) -> tuple[object, ...]:
    """Return what identifies an answer; its free text is left out because the trace has it masked."""
    return response.ticket_id, response.approved, response.approver_id, response.timestamp, response.signature


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
    try:
        convert(asdict(response), ApprovalResponse)
    except ValidationError as error:
        return f"the answer has something of another type: {error}"
    if not all(_is_text(text) for pair in (response.identity or {}).items() for text in pair):
        return "the identity of the answer is not text"
    return None


def _verified(response: ApprovalResponse, request: ApprovalRequest, known: Approvals) -> bool:
    """Return whether the signature is valid; without a key to verify it, it is ignored unless one is required."""
    if not response.signature and not request.require_signed:
        return False
    try:
        verify_response(response, request_hash=request.request_hash, schemes=known.schemes, environ=known.environ)
    except UnverifiedError as error:
        if error.kind == ErrorKind.SIGNATURE_KEY_MISSING and not request.require_signed:
            return False
        raise
    return True


def _written_late(response: ApprovalResponse, request: ApprovalRequest) -> tuple[str, str] | None:
    """Return kind and reason when an answer was written after its ticket expired, whatever time it states itself."""
    if not response.written or not request.expires_at:
        return None
    try:
        late = parse_time(response.written) > parse_time(request.expires_at)
    except (ValueError, TypeError) as error:
        return ErrorKind.APPROVAL_MALFORMED, f"the time at which the answer was written is invalid: {error}"
    if not late:
        return None
    return (
        ErrorKind.APPROVAL_TIMEOUT,
        f"the unsigned answer was written at {response.written}, after the ticket expired",
    )


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
    "UNSEALED",
    "AnswerAssessment",
    "AnswerResult",
    "Approvals",
    "Tally",
    "assess",
    "identity_of",
    "mark_of",
    "outside_validity",
    "recorded_response",
    "recount",
]
