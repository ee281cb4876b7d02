"""Answer a ticket for a person whom another system identified: checked before it is written, refusals kept apart."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gert_core.api import ApprovalResponse, ErrorKind, GertError, RunError, UsageError
from gert_core.approvals.checks import identity_of
from gert_core.approvals.inbox import check_answerable
from gert_core.approvals.requests import format_time
from gert_core.approvals.signing import sign_response
from gert_core.approvals.standing import assess_next, counts_alone, has_idle_signature
from gert_core.approvals.told import told_by
from gert_core.kit.tickets import TicketStore
from gert_core.kit.wire import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest
    from gert_core.approvals.checks import Approvals
    from gert_core.approvals.inbox import TicketEntry
    from gert_core.governance.people import Person
    from gert_core.keys import Key


def answer_for(
    entry: TicketEntry,
    *,
    approved: bool,
    identity: Mapping[str, str],
    evidence: str | None,
    reason: str | None,
    known: Approvals,
    key: Key | None,
) -> ApprovalResponse:
    """Answer a ticket for the person with an identity, signed with the key of the bridge; raise why it does not count.

    What was received before, by its ``evidence``, is the same answer. One that does not count is never written among
    the answers: who may not approve must not use up those that a ticket takes, nor reject it.
    """
    against = _against(entry, known)
    if (again := _received(entry, approved, identity, evidence, against)) is not None:
        return again
    now = datetime.now(UTC)
    try:
        given = _response(entry, approved, identity, evidence, reason, known, now)
        response = _checked(entry, given, against, key, now)
    except GertError as error:
        _keep_refusal(entry, approved, identity, evidence, error, now)
        raise
    TicketStore(entry.run).answer(response)
    return response


def add_answer(entry: TicketEntry, response: ApprovalResponse, known: Approvals) -> ApprovalResponse:
    """Add an answer that is not signed here; raise why it does not count. The same answer again is the same answer.

    One with an identity and no signature is the answer of the person who has that identity.
    """
    given = replace(response, uid=None, written=None)
    if given.identity is not None:
        identity_of(given.identity)  # one that is not text cannot be kept as a refusal either
    if given in [replace(one, uid=None, written=None) for one in entry.answers]:
        return given
    now, against = datetime.now(UTC), _against(entry, known)
    try:
        if (identity := given.identity) is not None and given.signature is None:
            given = replace(given, approver_id=_person(identity, known).id)
            if (again := _received(entry, given.approved, identity, given.evidence, against)) is not None:
                return again
        _checked(entry, given, against, None, now)
    except GertError as error:
        refused = {**given.to_json(), "at": format_time(now), "kind": error.kind, "message": error.message}
        TicketStore(entry.run).refuse(entry.request.ticket_id, given.method, refused)
        raise
    TicketStore(entry.run).answer(given)
    return given


def _response(
    entry: TicketEntry,
    approved: bool,
    identity: Mapping[str, str],
    evidence: str | None,
    reason: str | None,
    known: Approvals,
    now: datetime,
) -> ApprovalResponse:
    return ApprovalResponse(
        ticket_id=entry.request.ticket_id,
        approved=approved,
        approver_id=_person(identity, known).id,
        method=identity["provider"],
        timestamp=format_time(now),
        reason=as_text(reason) if reason else None,
        identity=dict(identity),
        evidence=evidence,
    )


def _against(entry: TicketEntry, known: Approvals) -> Approvals:
    """Return what answers are checked against, with what the run's trace tells about people."""
    told = told_by(entry.run)
    return replace(known, actors=told.actors, changed_by=told.changed_by)


def _received(
    entry: TicketEntry, approved: bool, identity: Mapping[str, str], evidence: str | None, against: Approvals
) -> ApprovalResponse | None:
    """Return the answer that was received in the same words before.

    What was received can be guessed: an answer that somebody else wrote, and that does not count, keeps none out.
    """
    if not evidence:
        return None
    wanted = (approved, evidence, identity)
    alike = (answer for answer in entry.answers if (answer.approved, answer.evidence, answer.identity) == wanted)
    return next((answer for answer in alike if counts_alone(answer, entry.request, against)), None)


def _person(identity: Mapping[str, str], known: Approvals) -> Person:
    space, name = identity_of(identity)
    if not space:
        raise RunError(
            f"the identity {name!r} does not say of which system it is",
            kind=ErrorKind.APPROVER_UNKNOWN,
            hint="give it a provider: the name of the bridge that identified the person",
        )
    person = known.people.with_identity(space, name)
    if person is None:
        raise RunError(
            f"no policy says who {space} {name!r} is",
            kind=ErrorKind.APPROVER_UNKNOWN,
            hint=f"add {space}: {name} to that person under people in a policy",
        )
    return person


def _checked(
    entry: TicketEntry, response: ApprovalResponse, against: Approvals, key: Key | None, now: datetime
) -> ApprovalResponse:
    """Return the answer, signed, if it counts as far as is known here."""
    check_answerable(entry, approved=response.approved, approver=response.approver_id, now=now)
    signed = response if key is None else _signed(response, entry.request, against, key)
    refusal = assess_next(signed, entry.standing.heard, entry.request, against)
    if refusal is not None:
        kind, hint = refusal.kind, "ask somebody who may approve it"
        if kind == ErrorKind.KEY_NOT_PERSONAL:
            hint = "it needs the key of the bridge that the policy names, or the person's own: gert approve"
        raise RunError(refusal.message, kind=kind, hint=hint)
    if has_idle_signature(response, entry.request, against):
        raise RunError(
            f"no key verifies the signature of the answer by {response.approver_id!r}",
            kind=ErrorKind.KEY_NOT_PERSONAL,
            hint="sign it with a key that a policy gives to that person, or leave the signature out",
        )
    return signed


def _signed(response: ApprovalResponse, request: ApprovalRequest, known: Approvals, key: Key) -> ApprovalResponse:
    scheme = known.schemes(key.algorithm)
    if scheme is None:
        raise UsageError(
            f"no installed plugin can sign with {key.algorithm!r}",
            kind=ErrorKind.SIGNATURE_ALGORITHM,
            hint=f"correct {key.name}, or install a plugin that supports it",
        )
    try:
        return sign_response(response, request_hash=request.request_hash, scheme=scheme, key=key.data)
    except ValueError as error:
        raise UsageError(
            f"the answer cannot be signed: {error}",
            kind=ErrorKind.SIGNATURE_KEY_UNUSABLE,
            hint=f"correct {key.name}",
        ) from error


def _keep_refusal(
    entry: TicketEntry,
    approved: bool,
    identity: Mapping[str, str],
    evidence: str | None,
    error: GertError,
    now: datetime,
) -> None:
    refused = {
        "identity": dict(identity),
        "approved": approved,
        "at": format_time(now),
        "kind": error.kind,
        "message": error.message,
        "evidence": evidence,
    }
    TicketStore(entry.run).refuse(entry.request.ticket_id, "/".join(identity_of(identity)), refused)


__all__ = ["add_answer", "answer_for"]
