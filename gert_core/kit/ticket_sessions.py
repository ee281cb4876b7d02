"""The session of a provider whose tickets are files: store each, tell people once, and return each answer once."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from gert_core.api.approvals import ApprovalTicket
from gert_core.api.errors import RunError
from gert_core.kit.files import UnreadableError
from gert_core.kit.log import warning
from gert_core.kit.tickets import AnswerReader, TicketStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api.approvals import ApprovalRequest, ApprovalResponse
    from gert_core.api.context import Deadline, Services

TRIES: Final = 3
"""How often a message is tried to be sent."""
SECONDS: Final = 10.0
"""How long all of these tries may take together."""
_PAUSE: Final = 1.0
_POLL: Final = 0.25


class NotSentError(Exception):
    """A message was not sent. ``final``: another try would not change that; ``wait``: seconds until there may be one.

    ``unsure``: it may have arrived all the same, as when there was no answer in time. ``hint`` says what to do,
    ``code`` is the receiver's own word for the problem.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        hint: str = "",
        final: bool = False,
        wait: float | None = None,
        unsure: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.final = final
        self.wait = wait
        self.unsure = unsure


class Send(Protocol):
    """Tells people about a request, once; returns what is kept of it beside the ticket.

    ``repeat``: an earlier message may have arrived, of which nothing is known. It ends within ``seconds``. What it
    keeps with ``TicketStore.keep_sent`` before it sends stays there when that fails.
    """

    def __call__(self, request: ApprovalRequest, *, repeat: bool, seconds: float) -> Mapping[str, Any]:
        """Send it; raise ``NotSentError``."""


class TicketSession:
    """The tickets of one run. With ``wait_seconds`` it waits for answers that long; then the run is suspended.

    With ``send`` each request is also sent to people, at least once: what was sent is kept beside the ticket, and a
    request that could not be sent stays open, with a warning, and is sent when the run is resumed.
    """

    def __init__(
        self, store: TicketStore, *, provider: str = "", send: Send | None = None, wait_seconds: float = 0.0
    ) -> None:
        self._store = store
        self._provider = provider
        self._send = send
        self._wait_seconds = wait_seconds
        self._answers = AnswerReader(store)
        self._untold: dict[str, ApprovalRequest] = {}

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Store the ticket and tell people, each of them once; answers that are there already are read first."""
        self._store.put(request)
        self._untold[request.ticket_id] = request
        if self._send is not None and not self._answered(request.ticket_id):
            self._tell(request.ticket_id)
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return the next answer that was not returned before; ``None`` when there is none (in time)."""
        until = time.monotonic() + self._wait_seconds
        while True:
            if (response := self.look(ticket, deadline)) is not None:
                return response
            self._tell(ticket.ticket_id)
            left = until - time.monotonic()
            if left <= 0 or deadline.wait(min(_POLL, left)):
                return None

    def look(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return the next answer that was not returned before, without waiting for one."""
        return self._answers.next(ticket.ticket_id)

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _answered(self, ticket_id: str) -> bool:
        """Return whether there are answers, or may be: who looks for them warns of those that cannot be read."""
        try:
            return bool(self._store.answers(ticket_id))
        except UnreadableError:
            return True

    def _tell(self, ticket_id: str) -> None:
        """Send a request that was submitted here, unless that was done before."""
        request = self._untold.pop(ticket_id, None)
        if request is None or self._send is None:
            return
        before = self._sent(ticket_id)
        if before.get("sent"):
            return
        # Kept before it is sent: what crashes behind this line may have told people.
        kept: dict[str, Any] = {**before, "provider": self._provider, "tried": _now(), "unsure": True}
        repeat = bool(before.get("unsure"))
        self._store.keep_sent(request.ticket_id, kept)
        try:
            data = _tried(request, self._send, repeat=repeat)
        except NotSentError as error:
            kept |= {**self._sent(ticket_id), "unsure": repeat or error.unsure, "problem": str(error)}
            self._store.keep_sent(request.ticket_id, kept)
            warning(
                "approvals",
                "no person was told about ticket %s: %s%s; `gert approve %s` answers it, `gert resume` sends it again",
                request.ticket_id,
                error,
                f" ({error.hint})" if error.hint else "",
                request.ticket_id,
            )
            return
        self._store.keep_sent(request.ticket_id, {"provider": self._provider, "sent": _now(), **data})

    def _sent(self, ticket_id: str) -> Mapping[str, Any]:
        try:
            return self._store.sent(ticket_id) or {}
        except UnreadableError as error:
            warning("approvals", "ticket %s is sent again: %s", ticket_id, error.message)
            return {"unsure": True}


def ticket_store(services: Services, provider: str) -> TicketStore:
    """Return the tickets of the run; raise ``RunError`` for one that is not kept."""
    if services.run is None:
        raise RunError(
            f"the approval provider {provider} needs a run that is kept, and this one is not",
            hint="choose another provider with --approval",
        )
    return TicketStore(services.run)


def _tried(request: ApprovalRequest, send: Send, *, repeat: bool) -> Mapping[str, Any]:
    """Send a request, a few times if that is needed; raise ``NotSentError`` with the last problem."""
    end = time.monotonic() + SECONDS
    for number in range(1, TRIES + 1):
        try:
            return send(request, repeat=repeat, seconds=max(end - time.monotonic(), 0.5))
        except NotSentError as error:
            repeat = repeat or error.unsure
            pause = _PAUSE * number if error.wait is None else error.wait
            if error.final or number == TRIES or time.monotonic() + pause >= end:
                error.unsure = repeat
                raise
            time.sleep(pause)
    raise AssertionError  # the last try returned or raised


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


__all__ = ["SECONDS", "TRIES", "NotSentError", "Send", "TicketSession", "ticket_store"]
