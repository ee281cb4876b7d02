"""The approval provider of hosts: tickets are files as in an inbox, and the run waits for their answers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from gert_core.api import ApprovalProvider, ApprovalTicket
from gert_core.kit.tickets import AnswerReader, TicketStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import ApprovalRequest, ApprovalResponse, Deadline, Services

RECORDED: Final = "inbox"
"""The provider that the trace has, so that a run that is left goes on in any process."""
_LOOK: Final = 0.25
"""Seconds between two looks for answers of other processes."""


class HostInbox:
    """The wake-up of the runs of one host: an answer that is given here is read at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[threading.Event]] = {}

    def provider(self) -> ApprovalProvider:
        """Return the provider for a run."""
        return ApprovalProvider(name=RECORDED, open=self._open, blocking=False)

    def wake(self, ticket_id: str) -> None:
        """Have the run that waits for a ticket look for its answers."""
        with self._lock:
            for event in self._waiting.get(ticket_id, ()):
                event.set()

    def wait(
        self, ticket_id: str, look: Callable[[], ApprovalResponse | None], deadline: Deadline
    ) -> ApprovalResponse | None:
        """Look until there is an answer or the waiting ends."""
        woken = threading.Event()
        with self._lock:
            self._waiting.setdefault(ticket_id, []).append(woken)
        withdraw = deadline.on_stop(woken.set)
        try:
            while (found := look()) is None and not deadline.stopped:
                left = deadline.remaining()
                woken.wait(_LOOK if left is None else min(_LOOK, left))
                woken.clear()
            return found
        finally:
            withdraw()
            with self._lock:
                self._waiting[ticket_id].remove(woken)
                if not self._waiting[ticket_id]:
                    del self._waiting[ticket_id]

    def _open(self, services: Services) -> _Session:
        assert services.run is not None  # noqa: S101 - approvals are requested in real runs, which are kept
        return _Session(self, TicketStore(services.run))


class _Session:
    """The tickets of one run."""

    def __init__(self, inbox: HostInbox, store: TicketStore) -> None:
        self._inbox = inbox
        self._store = store
        self._answers = AnswerReader(store)

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Store the ticket, once."""
        self._store.put(request)
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Return the next answer; None when the run is left or cancelled, or the ticket expires."""
        return self._inbox.wait(ticket.ticket_id, lambda: self._answers.next(ticket.ticket_id), deadline)

    def close(self) -> None:
        """Do nothing: no connection is kept."""


__all__ = ["RECORDED", "HostInbox"]
