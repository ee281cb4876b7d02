"""The rejections that are kept with a run: they are read before and after any provider is asked about a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ApprovalTicket
from gert_core.kit.files import UnreadableError
from gert_core.kit.log import warning
from gert_core.kit.tickets import TicketStore

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, ApprovalResponse, ApprovalSession, Deadline
    from gert_core.api.stores import StoredRun


class KeptRejections:
    """The session of a provider, or of none, in front of which the rejections in the run's own tickets stand.

    A ticket of an earlier process may have been answered where the provider of this one does not look. Approvals that
    are kept there are left to the provider that reads them.
    """

    def __init__(self, run: StoredRun, session: ApprovalSession | None = None, *, leaves: bool = False) -> None:
        """Take whether the run is left, with a warning, while the system hides an answer."""
        self._tickets = TicketStore(run)
        self._session = session
        self._leaves = leaves
        self._seen: set[str] = set()

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Submit a request to the provider."""
        if self._session is not None:
            return self._session.submit(request)
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return a rejection that is kept, else what the provider gives if none was kept meanwhile.

        While the system hides an answer, which may be a rejection, there is none; or raise ``UnreadableError``.
        """
        try:
            kept = self._next(ticket.ticket_id)
            if kept is not None or self._session is None:
                return kept
            response = self._session.wait(ticket, deadline)
            return self._next(ticket.ticket_id) or response
        except UnreadableError as error:
            if not self._leaves:
                raise
            warning("approvals", "ticket %s stays pending: %s", ticket.ticket_id, error.message)
            return None

    def close(self) -> None:
        """Do nothing: who opened the provider closes it."""

    def _next(self, ticket_id: str) -> ApprovalResponse | None:
        for name, found in self._tickets.answers(ticket_id):
            if isinstance(found, UnreadableError):
                if found.hidden:
                    raise found
            elif name not in self._seen and found.ticket_id == ticket_id and not found.approved:
                self._seen.add(name)
                return found
        return None


__all__ = ["KeptRejections"]
