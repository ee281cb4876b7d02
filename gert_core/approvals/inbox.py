"""Find and answer the tickets of all runs, for ``gert approve`` and ``gert approvals``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import ApprovalRequest, ApprovalResponse, ErrorKind, EventType, GertError, RunError, UsageError
from gert_core.approvals.requests import comparable_id, format_time, parse_time, same_approver, valid_ticket_id
from gert_core.approvals.signing import SIGNING_KEY, request_hash, sign_response
from gert_core.keys import APPROVAL, signing_key, signing_key_id
from gert_core.kit.tickets import TicketStore
from gert_core.runs.directory import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gert_core.approvals.signing import Schemes


class Entry(Struct, frozen=True, kw_only=True):
    """One ticket of one run with its answers so far."""

    request: ApprovalRequest
    run: RunDirectory
    answers: tuple[ApprovalResponse, ...]
    resolved: str | None
    """How the run resolved it (``approved``, ``rejected``, ``expired``); None while it is open."""

    @property
    def approvers(self) -> tuple[str, ...]:
        """The approvers who have approved, once each."""
        yes = {comparable_id(answer.approver_id): answer.approver_id for answer in self.answers if answer.approved}
        return tuple(yes.values())

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
        rejected = any(not answer.approved for answer in self.answers)
        return rejected or len(self.approvers) >= self.request.min_approvers

    def to_json(self, now: datetime) -> dict[str, object]:
        """Return one entry of ``gert approvals list --json``."""
        return {
            "ticket_id": self.request.ticket_id,
            "status": self.status(now),
            "approvers": list(self.approvers),
            "request": self.request.to_json(),
        }


def entries(root: Path) -> Iterator[Entry]:
    """Yield every readable ticket of every run below ``root``, newest run first."""
    try:
        folders = sorted((path for path in root.iterdir() if (path / "tickets").is_dir()), reverse=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    for folder in folders:
        if folder.is_symlink():
            continue
        run = RunDirectory(folder)
        for ticket in TicketStore(folder / "tickets").tickets():
            try:
                found = _entry(run, ticket)
            except GertError:
                continue
            if found is not None:
                yield found


def find(root: Path, ticket_id: str) -> Entry:
    """Return the ticket from any run below ``root``; raise ``UsageError`` when no run has it."""
    if valid_ticket_id(ticket_id) and root.is_dir():
        for folder in sorted(root.iterdir(), reverse=True):
            if (folder / "tickets").is_dir() and not folder.is_symlink():
                found = _entry(RunDirectory(folder), ticket_id)
                if found is not None:
                    return found
    raise UsageError(
        f"there is no ticket {ticket_id!r} in {root}",
        kind=ErrorKind.TICKET_UNKNOWN,
        hint="`gert approvals list` shows the open tickets",
    )


def respond(
    entry: Entry,
    *,
    approved: bool,
    approver: str,
    reason: str | None,
    environ: Mapping[str, str],
    schemes: Schemes,
    now: datetime | None = None,
) -> ApprovalResponse:
    """Answer a ticket, signed when a signing key is set; raise when it can no longer be answered."""
    moment = now or datetime.now(UTC)
    _check_answerable(entry, approved=approved, approver=approver, now=moment)
    response = ApprovalResponse(
        ticket_id=entry.request.ticket_id,
        approved=approved,
        approver_id=approver,
        method="inbox",
        timestamp=format_time(moment),
        reason=reason or None,
    )
    response = _signed(response, entry.request, environ=environ, schemes=schemes)
    TicketStore(entry.run.path / "tickets").answer(response)
    return response


def _entry(run: RunDirectory, ticket_id: str) -> Entry | None:
    store = TicketStore(run.path / "tickets")
    request = store.get(ticket_id)
    if request is None:
        return None
    answers = tuple(answer for _, answer in store.answers(ticket_id))
    return Entry(request=request, run=run, answers=answers, resolved=_resolved(run, ticket_id))


def _resolved(run: RunDirectory, ticket_id: str) -> str | None:
    """Return how the run's trace resolved the ticket, None when it did not."""
    from gert_core.trace.reader import read

    if not run.trace.exists():
        return None
    for event in read(run.trace):
        if event.type == EventType.APPROVAL_RESOLVED and event.data.get("ticket_id") == ticket_id:
            return str(event.data.get("status") or "resolved")
    return None


def _check_answerable(entry: Entry, *, approved: bool, approver: str, now: datetime) -> None:
    request = entry.request
    name = f"ticket {request.ticket_id}"
    status = entry.status(now)
    if not comparable_id(approver):
        raise UsageError("an approver needs a name", hint="give it with --as ID")
    if status == "expired":
        raise RunError(f"{name} expired at {request.expires_at}", kind=ErrorKind.TICKET_EXPIRED, hint="start a new run")
    if status == "answered":
        raise RunError(
            f"{name} has all the answers it needs",
            kind=ErrorKind.TICKET_RESOLVED,
            hint=f"resume the run: gert resume --run {request.run_id}",
        )
    if status != "pending":
        raise RunError(f"{name} is resolved already ({status})", kind=ErrorKind.TICKET_RESOLVED)
    if request.request_hash != request_hash(
        runbook_hash=request.runbook_hash,
        step_id=request.step_id,
        contract=request.contract,
        inputs=request.inputs,
    ):
        # An approver must have seen what the signed hash covers.
        raise RunError(
            f"{name} was altered: its contract or inputs do not match its hash",
            kind=ErrorKind.TICKET_ALTERED,
            hint=f"resume the run to request approval again: gert resume --run {request.run_id}",
        )
    if any(same_approver(approver, answer.approver_id) for answer in entry.answers):
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


__all__ = ["Entry", "entries", "find", "respond"]
