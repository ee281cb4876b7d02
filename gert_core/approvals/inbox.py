"""Find and answer the tickets of all runs, for ``gert approve`` and ``gert approvals``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import (
    ApprovalRequest,
    ApprovalResponse,
    ErrorKind,
    RunError,
    UsageError,
)
from gert_core.approvals.binding import SHOWN, matches_document
from gert_core.approvals.checks import outside_validity
from gert_core.approvals.requests import comparable_id, format_time, same_approver, valid_ticket_id
from gert_core.approvals.signing import SIGNING_KEY, sign_response
from gert_core.approvals.standing import UNCHECKED, TicketStanding, standing
from gert_core.approvals.ticket_runs import all_runs, likely_runs
from gert_core.approvals.told import Told, ended, told_by
from gert_core.governance.people import NO_PEOPLE, id_fault
from gert_core.keys import APPROVAL, signing_key, signing_key_id
from gert_core.kit.files import UnreadableError
from gert_core.kit.tickets import TicketStore
from gert_core.kit.times import parse_time
from gert_core.kit.wire import as_text
from gert_core.runs.again import resuming
from gert_core.runs.meta import read_meta
from gert_core.runs.moved import moved, refuse_moved
from gert_core.runs.state import ABORTED
from gert_core.runs.withdrawn import WITHDRAWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import Comment, RunStore, StoredRun
    from gert_core.approvals.checks import Approvals
    from gert_core.approvals.signing import Schemes
    from gert_core.governance.people import People


UNRESOLVED: Final = ("pending", "answered", "expired")
"""The statuses of tickets that their run has not resolved."""


class Unreadable(Struct, frozen=True, kw_only=True):
    """A run, a ticket or an answer that cannot be read; a listing names it and goes on."""

    run_id: str
    problem: str
    ticket_id: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``unreadable`` in ``gert approvals list --json``."""
        return {"run_id": self.run_id, "ticket_id": self.ticket_id, "problem": self.problem}


class TicketEntry(Struct, frozen=True, kw_only=True):
    """One ticket of one run with its answers so far."""

    request: ApprovalRequest
    run: StoredRun
    answers: tuple[ApprovalResponse, ...]
    resolved: str | None
    """How it was resolved (``approved``, ``rejected``, ``expired``, ``aborted``, ``withdrawn``); None: it is open."""
    standing: TicketStanding = TicketStanding()
    """Which of the answers count."""
    people: People = NO_PEOPLE
    unreadable: tuple[Unreadable, ...] = ()
    """The answers that cannot be read."""

    @property
    def approvers(self) -> tuple[str, ...]:
        """The approvers whose approval counts, once each."""
        return tuple(self.standing.approved.values())

    @property
    def missing(self) -> int:
        """How many approvals are missing, if those count that cannot be verified here."""
        given = len(self.approvers) + len(self.standing.unverified)
        return 0 if self.answered else max(0, self.request.min_approvers - given)

    def status(self, now: datetime) -> str:
        """Return ``pending``, ``answered`` (the run has to be resumed), ``expired``, or how it was resolved."""
        if self.resolved is not None:
            return self.resolved
        if self.answered:
            return "answered"
        expires = self.request.expires_at
        return "expired" if expires and now > parse_time(expires) else "pending"

    @property
    def answered(self) -> bool:
        """Whether the answers given decide it, as far as is known before the run checks them."""
        return self.standing.rejected or len(self.approvers) >= self.request.min_approvers

    def has_counted(self, approver: str) -> bool:
        """Return whether an approval of this person counts already, under whichever of their names."""
        meant = self.people.meant_by(approver)
        return comparable_id(meant[0].id if len(meant) == 1 else approver) in self.standing.approved

    def why_not(self, approver: str) -> str | None:
        """Return why the approval of a person does not count, as far as is known here; None when it does."""
        return None if self.has_counted(approver) else self.standing.refused.get(comparable_id(approver))

    @property
    def comments(self) -> list[Comment]:
        """What people asked or said about it; never an answer."""
        return TicketStore(self.run).comments(self.request.ticket_id)

    def to_json(self, now: datetime) -> dict[str, object]:
        """Return one entry of ``gert approvals list --json``."""
        return {
            "ticket_id": self.request.ticket_id,
            "status": self.status(now),
            "approvers": list(self.approvers),
            "unverified": list(self.standing.unverified),
            "comments": [comment.to_json() for comment in self.comments],
            "request": self.request.to_json(),
        }


def entries(
    store: RunStore,
    *,
    report: Callable[[Unreadable], object] = lambda _: None,
    known: Callable[[], Approvals] = lambda: UNCHECKED,
    unresolved: bool = False,
) -> Iterator[TicketEntry]:
    """Yield every ticket of every run of a store, newest run first; ``report`` what cannot be read.

    ``known`` gives what answers are checked against; it is asked only when there is an answer. With ``unresolved`` runs
    are left out that ended with all their tickets, by their last line alone.
    """
    for run in all_runs(store):
        try:
            tickets = TicketStore(run).tickets()
            if tickets and ((unresolved and ended(run)) or moved(read_meta(run)) is not None):
                continue
            told = told_by(run) if tickets else Told()
        except RunError as error:
            report(Unreadable(run_id=run.run_id, problem=error.message))
            continue
        for ticket in tickets:
            try:
                found = _entry(run, ticket, known, told)
            except RunError as error:
                report(Unreadable(run_id=run.run_id, ticket_id=ticket, problem=error.message))
                continue
            if found is not None:
                for answer in found.unreadable:
                    report(answer)
                yield found


def find(store: RunStore, ticket_id: str, *, known: Callable[[], Approvals] = lambda: UNCHECKED) -> TicketEntry:
    """Return the ticket from any run of a store; raise ``UsageError`` when no run has it."""
    unreadable: list[RunError] = []
    if valid_ticket_id(ticket_id):
        for run in likely_runs(store, ticket_id):
            try:
                found = _entry(run, ticket_id, known)
                if found is not None:
                    refuse_moved(run)
            except RunError as error:
                if error.kind in (ErrorKind.TICKET_ALTERED, ErrorKind.RUN_MOVED):
                    raise
                unreadable.append(error)
            else:
                if found is not None:
                    return found
    if len(unreadable) == 1:
        raise unreadable[0]
    others = f"; {len(unreadable)} runs cannot be read" if unreadable else ""
    raise UsageError(
        f"there is no ticket {ticket_id!r} in {store.place}{others}",
        kind=ErrorKind.TICKET_UNKNOWN,
        hint=f"`gert approvals list{store.option}` shows the open tickets",
    )


def respond(
    entry: TicketEntry,
    *,
    approved: bool,
    approver: str,
    reason: str | None,
    environ: Mapping[str, str],
    schemes: Schemes,
    now: datetime | None = None,
    identity: Mapping[str, str] | None = None,
    evidence: str | None = None,
) -> ApprovalResponse:
    """Answer a ticket, signed when a signing key is set; raise when it can no longer be answered."""
    moment = now or datetime.now(UTC)
    check_answerable(entry, approved=approved, approver=approver, now=moment)
    response = ApprovalResponse(
        ticket_id=entry.request.ticket_id,
        approved=approved,
        approver_id=approver,
        method="inbox",
        timestamp=format_time(moment),
        reason=as_text(reason) if reason else None,
        identity=identity,
        evidence=evidence,
    )
    if approved and (fault := outside_validity(response, entry.request)) is not None:
        raise RunError(
            f"{fault[1]}: the clock here differs from that of the run",
            kind=fault[0],
            hint="set the clock, then approve again",
        )
    response = _signed(response, entry.request, environ=environ, schemes=schemes)
    TicketStore(entry.run).answer(response)
    return response


def entry_of(
    run: StoredRun, ticket_id: str, *, known: Callable[[], Approvals] = lambda: UNCHECKED
) -> TicketEntry | None:
    """Return a ticket of a run, whose answers are not checked without ``known``; None when it has no such ticket."""
    return _entry(run, ticket_id, known)


def _entry(
    run: StoredRun, ticket_id: str, known: Callable[[], Approvals], told: Told | None = None
) -> TicketEntry | None:
    store = TicketStore(run)
    request = store.get(ticket_id)
    if request is None:
        return None
    if request.run_id != run.run_id:
        raise UnreadableError(run.where("tickets"), f"has ticket {ticket_id} of another run, {request.run_id}")
    if SHOWN in request.document and not matches_document(request):
        # What is shown of a ticket is what the signed hash covers, or nothing.
        raise RunError(
            f"ticket {ticket_id} was altered: what it shows does not match its hash",
            kind=ErrorKind.TICKET_ALTERED,
            hint="somebody has changed its file: find out who, and start a new run",
        )
    found = [answer for _, answer in store.answers(ticket_id)]
    answers = tuple(answer for answer in found if isinstance(answer, ApprovalResponse))
    told = told_by(run) if told is None else told
    against = replace(known(), actors=told.actors, changed_by=told.changed_by) if answers else UNCHECKED
    return TicketEntry(
        request=request,
        run=run,
        answers=answers,
        resolved=told.resolved.get(ticket_id, ABORTED if told.aborted else None),
        standing=standing(answers, request, against, set_aside=told.set_aside),
        people=against.people,
        unreadable=tuple(
            Unreadable(run_id=run.run_id, ticket_id=ticket_id, problem=answer.message)
            for answer in found
            if not isinstance(answer, ApprovalResponse)
        ),
    )


def check_answerable(entry: TicketEntry, *, approved: bool, approver: str, now: datetime) -> None:
    """Raise the reason for which a ticket cannot be answered, or not by this person."""
    request = entry.request
    name = f"ticket {request.ticket_id}"
    status = entry.status(now)
    if (fault := id_fault(approver)) is not None:
        raise UsageError(f"{approver!a} cannot be an approver's id: it {fault}", hint="give another with --as ID")
    if status == "expired":
        raise RunError(
            f"{name} expired at {request.expires_at}; it is {format_time(now)} by the clock here",
            kind=ErrorKind.TICKET_EXPIRED,
            hint="start a new run, or set the clock if it is wrong",
        )
    if status == "answered":
        raise RunError(
            f"{name} has all the answers it needs",
            kind=ErrorKind.TICKET_RESOLVED,
            hint=f"resume the run: {resuming(entry.run)}",
        )
    if status == ABORTED:
        raise RunError(
            f"run {request.run_id} was aborted, and {name} with it",
            kind=ErrorKind.TICKET_RESOLVED,
            hint=f"`gert approvals list{entry.run.option}` shows the open tickets",
        )
    if status == WITHDRAWN:
        raise RunError(
            f"run {request.run_id} is being aborted, and does not wait for {name} any more",
            kind=ErrorKind.TICKET_RESOLVED,
            hint=f"`gert approvals list{entry.run.option}` shows the open tickets",
        )
    if status != "pending":
        raise RunError(f"{name} is resolved already ({status})", kind=ErrorKind.TICKET_RESOLVED)
    if SHOWN not in request.document:
        raise RunError(
            f"{name} was requested by an earlier version of gert, and covers less than approvals do now",
            kind=ErrorKind.TICKET_ALTERED,
            hint=f"resume the run to request approval again: {resuming(entry.run)}",
        )
    if request.approvers and not any(same_approver(approver, name) for name in request.approvers):
        raise RunError(
            f"{approver!r} is not one of those who may approve {name}: {', '.join(request.approvers)}",
            kind=ErrorKind.APPROVAL_NOT_ALLOWED,
            hint="ask one of them",
        )
    if entry.has_counted(approver):
        raise RunError(
            f"{approver!r} has answered {name} already", kind=ErrorKind.TICKET_DUPLICATE, hint="ask another person"
        )
    if approved and request.exclude_actor and same_approver(approver, request.requested_by):
        raise RunError(
            f"{approver!r} started the run and may not approve {name}",
            kind=ErrorKind.TICKET_OWN_ACTOR,
            hint="ask another person",
        )


def _signed(
    response: ApprovalResponse, request: ApprovalRequest, *, environ: Mapping[str, str], schemes: Schemes
) -> ApprovalResponse:
    try:
        key, key_id = signing_key(environ, APPROVAL), signing_key_id(environ, APPROVAL)
        if key is None:
            if request.require_signed and response.approved:
                raise UsageError(
                    f"ticket {request.ticket_id} requires signed approvals and there is no signing key",
                    kind=ErrorKind.SIGNATURE_KEY_MISSING,
                    hint=f"set {SIGNING_KEY}; `gert keys new` makes one",
                )
            return response
        scheme = schemes(key.algorithm)
        if scheme is None:
            raise UsageError(
                f"no installed plugin can sign with {key.algorithm!r}",
                kind=ErrorKind.SIGNATURE_ALGORITHM,
                hint=f"correct {SIGNING_KEY}, or install a plugin that supports it",
            )
        return sign_response(response, request_hash=request.request_hash, scheme=scheme, key=key.data, key_id=key_id)
    except ValueError as error:
        raise UsageError(
            f"the approval cannot be signed: {error}",
            kind=ErrorKind.SIGNATURE_KEY_UNUSABLE,
            hint=f"correct {SIGNING_KEY}",
        ) from error


__all__ = ["UNRESOLVED", "TicketEntry", "Unreadable", "check_answerable", "entries", "entry_of", "find", "respond"]
