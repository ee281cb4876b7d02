"""The session of the provider ``stdin``: show the request, read ``y|n [approver-id][: reason]`` (also ``yes|no``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_approval_stdin.display import describe, printable
from gert_core.api import WRONG_ANSWERS, ApprovalResponse, ApprovalTicket
from gert_core.kit.display import readable_key

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, Deadline, Services

_LINE: Final = re.compile(r"\s*(y|yes|n|no)(?:\s+([^\s:]+))?\s*(?::\s*(.*?))?\s*", re.IGNORECASE | re.DOTALL)
_GRAMMAR: Final = "y|n [approver-id][: reason]"


class StdinSession:
    """One run's approvals at its terminal; parallel branches wait for each other's dialogue to end."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._requests: dict[str, ApprovalRequest] = {}
        self._answers: dict[str, int] = {}

    def submit(self, request: ApprovalRequest) -> ApprovalTicket:
        """Store the request; ``wait`` asks for the answer."""
        self._requests[request.ticket_id] = request
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket: ApprovalTicket, deadline: Deadline) -> ApprovalResponse | None:
        """Ask until a line is valid; return ``None`` at the end of input, which the core takes as a rejection.

        So it does after ``WRONG_ANSWERS`` other lines. Neither gives a response: the trace must not record a rejection
        by a person who did not answer.
        """
        request = self._requests[ticket.ticket_id]
        console = self._services.console
        with console.exclusive():
            if deadline.stopped:
                return None
            given = self._answers.get(ticket.ticket_id, 0)
            shown = [_again(request)] if given else describe(request, actor=self._services.actor)
            for text in shown:
                console.say(text)
            for _ in range(WRONG_ANSWERS):
                line = console.ask(f"Approve {_name(request)}? {_GRAMMAR} ", deadline=deadline)
                if line is None:
                    if not deadline.stopped:
                        console.say("The input ended without an answer; `--approval inbox` lets people answer later.")
                    return None
                match = _LINE.fullmatch(line)
                if match is not None:
                    self._answers[ticket.ticket_id] = given + 1
                    word, approver, reason = match.groups()
                    return self._answer(ticket, approved=word[0] in "yY", approver=approver or "", reason=reason)
                console.say(f"Please answer with {_GRAMMAR}.")
            console.say(f"None of {WRONG_ANSWERS} lines was an answer.")
            return None

    def _answer(self, ticket: ApprovalTicket, *, approved: bool, approver: str, reason: str | None) -> ApprovalResponse:
        return ApprovalResponse(
            ticket_id=ticket.ticket_id,
            approved=approved,
            approver_id=approver or self._services.actor or "operator",
            method="stdin",
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            reason=reason or None,
        )

    def close(self) -> None:
        """Do nothing: no connection is kept."""


def _name(request: ApprovalRequest) -> str:
    """Return the step as it is named on screen, its item included."""
    return printable(readable_key(request.step_key))


def _again(request: ApprovalRequest) -> str:
    """Explain why one answer was not enough."""
    people = "an approver" if request.min_approvers == 1 else f"{request.min_approvers} different approvers"
    other = f" other than {printable(request.requested_by)}" if request.exclude_actor else ""
    return f"{_name(request)} needs {people}{other}."


def open_session(services: Services) -> StdinSession:
    """Open the provider for one run."""
    return StdinSession(services)


__all__ = ["StdinSession", "open_session"]
