"""The session of the provider ``inbox``: write tickets as files, and return each answer file once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ApprovalTicket, RunError
from gert_core.kit.tickets import AnswerReader, TicketStore

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, ApprovalResponse, Deadline, Services

_POLL: Final = 0.25


class InboxSession:
    """The inbox of one run; with ``config: {wait: SECONDS}`` it waits for answers that long."""

    def __init__(self, store: TicketStore, *, wait_seconds: float = 0.0) -> None:
        self._store = store
        self._wait_seconds = wait_seconds
        self._answers = AnswerReader(store)

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Put the ticket into the inbox, once."""
        self._store.put(request)
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return the next answer that was not returned before; ``None`` when there is none (in time)."""
        left = self._wait_seconds
        while True:
            if (response := self._answers.next(ticket.ticket_id)) is not None:
                return response
            if left <= 0 or deadline.wait(min(_POLL, left)):
                return None
            left -= _POLL

    def close(self) -> None:
        """Do nothing: no connection is kept."""


def open_session(services: Services) -> InboxSession:
    """Open the provider for one run."""
    if services.run is None:
        raise RunError(
            "the approval inbox needs a run that is kept, and this one is not",
            hint="choose another provider with --approval",
        )
    return InboxSession(TicketStore(services.run), wait_seconds=_wait_seconds(services.config))


def _wait_seconds(config: Any) -> float:
    value = config.get("wait", 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise RunError(
            f"approvals.config.wait must be a number of seconds, not {value!r}",
            hint="correct it in gert-project.yaml",
        )
    return float(value)


__all__ = ["InboxSession", "open_session"]
