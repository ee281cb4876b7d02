"""What programs that answer tickets for people are given: requests they receive, tickets, and who may decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gert_core.api.approvals import ApprovalRequest, ApprovalResponse


class CallbackRequest(Struct, frozen=True, kw_only=True):
    """One HTTP request to ``/callbacks/<provider>``: ``path`` is what follows that, empty or ``/<ticket>``.

    ``headers`` are in the order in which they came, with names in lower case; one that came twice is there twice.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    now: datetime

    def header(self, name: str) -> str | None:
        """Return the value of a header, None when it is missing; raise ``UsageError`` for one that is there twice."""
        found = [value for key, value in self.headers if key == name.lower()]
        if len(found) > 1:
            raise UsageError(f"the header {name} is given {len(found)} times")
        return found[0] if found else None


class CallbackReply(Struct, frozen=True, kw_only=True):
    """The answer to such a request; ``after`` is called in another thread once it was sent."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    after: Callable[[], object] | None = None


class Comment(Struct, frozen=True, kw_only=True):
    """What somebody asked or said about a ticket; it is never an answer to it."""

    by: str
    at: str
    text: str

    def to_json(self) -> dict[str, str]:
        """Return it as an object."""
        return {"by": self.by, "at": self.at, "text": self.text}


class TicketState(Struct, frozen=True, kw_only=True):
    """Where a ticket stands now.

    ``status`` is ``pending``, ``answered`` (its run has to go on), ``approved``, ``rejected``, ``expired``, ``void``
    (what it asked for changed) or ``aborted``; ``approvers`` are those whose approval counts so far.
    """

    request: ApprovalRequest
    status: str
    approvers: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    """Those whose signature only the run can verify."""
    answers: tuple[ApprovalResponse, ...] = ()
    since_last: Mapping[str, Any] | None = None
    comments: tuple[Comment, ...] = ()
    run_status: str = ""
    """That of its run: ``approval_pending``, ``running``, ``completed`` ..."""
    outcome: Mapping[str, Any] | None = None
    """The outcome of its run, once that has one."""
    resume: str = ""
    """The command that resumes its run, with ``…`` for each secret input that must be given again."""

    @property
    def open(self) -> bool:
        """Whether it can still be answered."""
        return self.status == "pending"

    @property
    def rejected_by(self) -> ApprovalResponse | None:
        """The rejection among the answers."""
        return next((answer for answer in self.answers if not answer.approved), None)


class Tickets(Protocol):
    """The tickets of a project, for programs that answer them for people."""

    def ticket(self, ticket_id: str, *, since_last: bool = True) -> TicketState:
        """Return where a ticket stands; raise ``UsageError`` ``ticket_unknown``.

        Without ``since_last`` the last approval is not looked for, which takes longer the more runs there are; nor is
        it in what ``decide`` and ``take`` return.
        """

    def decide(
        self,
        ticket_id: str,
        *,
        approved: bool,
        identity: Mapping[str, str],
        evidence: str | None = None,
        reason: str | None = None,
    ) -> TicketState:
        """Answer a ticket for the person with an identity, signed with the bridge's key; return where it stands then.

        ``identity`` is ``{provider, tenant, user}`` with ids that their owner cannot change; ``provider`` is the name
        of the bridge. ``evidence`` is the SHA-256 of what was received. Raise ``GertError`` whose ``kind`` says why
        the answer does not count: nothing is written then but that it was refused.
        """

    def take(self, response: ApprovalResponse) -> TicketState:
        """Add an answer as it was given, signed by the person or unsigned; return where its ticket stands then.

        It is checked as every other is, and raises in the same way when it does not count.
        """

    def sent(self, ticket_id: str) -> Mapping[str, Any] | None:
        """Return what the provider kept of the messages it sent about a ticket, see ``TicketStore.keep_sent``."""

    def keep_sent(self, ticket_id: str, data: Mapping[str, Any]) -> None:
        """Keep something else of them."""


__all__ = ["CallbackReply", "CallbackRequest", "Comment", "TicketState", "Tickets"]
