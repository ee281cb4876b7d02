"""Records and protocols of approvals: request, ticket, response, provider."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.context import Deadline, Services
    from gert_core.api.tickets import CallbackReply, CallbackRequest, TicketState


class TicketStatus(StrEnum):
    """The status of a ticket; after ``pending`` it changes once."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """What an approver decides about; inputs are masked. ``created`` and ``expires_at`` are RFC 3339 texts.

    ``document`` is everything that the approval is bound to, and ``request_hash`` the SHA-256 of its canonical JSON, so
    that an approver can check that it is the hash of what was shown. The other fields are the same facts for display.
    ``generation`` counts the tickets of this step: a request that changed before the step was executed is asked anew.
    """

    ticket_id: str
    run_id: str
    step_id: str
    step_key: str
    runbook_name: str
    step_type: str
    description: str
    risk_level: str
    contract: Mapping[str, Any]
    inputs: Mapping[str, Any]
    request_hash: str
    min_approvers: int = 1
    runbook_hash: str = ""
    requested_by: str = ""
    created: str = ""
    expires_at: str = ""
    timeout: float = 1800.0
    command: tuple[str, ...] = ()
    exclude_actor: bool = False
    require_signed: bool = False
    extensions: Mapping[str, object] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 1
    approvers: tuple[str, ...] = ()
    """The people and groups whose approval counts; empty: everybody's."""
    rule: str = ""
    """The rules that require the approval, one sentence for people per line."""

    def to_json(self) -> dict[str, object]:
        """Return every field, as providers store or send it."""
        return {name: _json(getattr(self, name)) for name in self.__struct_fields__}


class ApprovalTicket(Struct, frozen=True, kw_only=True):
    """The handle of a submitted request."""

    ticket_id: str
    status: str = TicketStatus.PENDING
    created: str = ""


class ApprovalResponse(Struct, frozen=True, kw_only=True):
    """One approver's answer; ``timestamp`` is kept exactly as received because the signature covers it."""

    ticket_id: str
    approved: bool
    approver_id: str
    method: str
    timestamp: str
    signature: str | None = None
    signature_alg: str | None = None
    key_id: str | None = None
    reason: str | None = None
    identity: Mapping[str, str] | None = None
    """Who answered, as the provider knows them: ``{provider, tenant, user}``, ids that their owner cannot change."""
    evidence: str | None = None
    """SHA-256 of what the provider received."""
    uid: int | None = None
    """The operating system's number of the user who wrote the answer, where the provider knows it."""
    written: str | None = None
    """When the answer was written or last changed, where the provider knows it otherwise than from the answer."""
    line: str | None = None
    """The line that a person typed, where the answer was read from one: searched for secrets, never recorded."""

    def to_json(self) -> dict[str, object]:
        """Return every field that is set."""
        return {n: getattr(self, n) for n in self.__struct_fields__ if getattr(self, n) is not None}


class ApprovalSession(Protocol):
    """An opened provider; the core chooses the ticket id and has it on disk before ``submit``.

    What ``open``, ``submit`` and ``wait`` raise makes the step an error ``approval_provider`` that names the plugin; it
    never approves anything.
    """

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Submit the request and return at once; the same ticket twice is the same request."""

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return one response per call; ``None``: there is no answer yet (asynchronous providers suspend the run)."""

    def close(self) -> None:
        """Close connections and processes; called once when the run ends or is suspended.

        Open tickets stay open. A session that derives from this class and has nothing to close need not define it.
        """


class ApprovalProvider(Struct, frozen=True, kw_only=True):
    """A way to ask for approvals, chosen by ``--approval`` or the project file.

    ``blocking`` providers answer inside ``wait``; for the others a run with open tickets is suspended. ``console``: it
    asks the person at the terminal, so that a run that certainly needs an approval is refused where it cannot be asked.

    Answers that come over HTTP go to ``callback(request, services)``, which ``gert web`` mounts at
    ``/callbacks/<name>``; it checks where a request is from and calls ``services.tickets.decide``. ``update(state,
    sent, services)`` rewrites what was sent about a ticket that has changed: ``sent`` is what was kept with
    ``TicketStore.keep_sent``, and what it returns is kept instead, with ``settled: true`` when nothing is left to
    rewrite; None: nothing changed. ``bridge`` is the name under which policies have the key that such answers are
    signed with; where a policy wants ``personal_keys``, a provider with a bridge is refused before the run.

    ``check(services)`` raises ``GertError`` for settings with which it cannot ask; it is called before a run that may
    need an approval, sends nothing, and ``services.run`` is None.
    """

    name: str
    open: str | Callable[[Services], ApprovalSession]
    blocking: bool = False
    console: bool = False
    callback: str | Callable[[CallbackRequest, Services], CallbackReply] | None = None
    update: str | Callable[[TicketState, Mapping[str, Any], Services], Mapping[str, Any] | None] | None = None
    bridge: str = ""
    check: str | Callable[[Services], None] | None = None
    summary: str = ""


def _json(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


__all__ = [
    "ApprovalProvider",
    "ApprovalRequest",
    "ApprovalResponse",
    "ApprovalSession",
    "ApprovalTicket",
    "TicketStatus",
]
