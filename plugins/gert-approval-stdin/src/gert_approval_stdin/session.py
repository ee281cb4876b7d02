"""The session of the provider ``stdin``: show the request, read ``y|n [approver-id][: reason]`` (also ``yes|no``).

At a terminal, approving what is of high or critical risk takes the id of the step instead of ``y``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import WRONG_ANSWERS, Answer, ApprovalResponse, ApprovalTicket
from gert_core.kit.approval_screen import NARROWEST, approving_word, describe, name_of, width
from gert_core.kit.escaping import cut, escape

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, Deadline, Services

_REST: Final = r"(?:\s+((?i:(?:agent|group):[^\s:]*)|[^\s:]+))?\s*(?::\s*(.*))?"
"""The approver, whose id may be that of an agent (``agent:NAME``, which is not a person called ``agent``), and why."""
_YES: Final = r"y|yes"
_NO: Final = r"n|no"
_UNSIGNED: Final = "required; a line typed here is not signed (use the inbox and `gert approve`)"
_AROUND: Final = len("Approve ? ")
_NAME: Final = 40
"""Columns of a step's name in a question; the whole name is in the request."""


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
            terminal: bool = getattr(console, "terminal", False)  # a console of before there was the attribute has none
            word = approving_word(request) if terminal else ""
            grammar, columns = f"{escape(word) or 'y'}|n [approver-id][: reason]", width()
            if terminal and columns < NARROWEST:
                console.say(f"A terminal of {columns} columns cannot show the request: it needs {NARROWEST}.")
                return None
            shown = (
                [cut(_again(request), columns)]
                if given
                else ["", *describe(request, columns=columns, signature=_UNSIGNED)]
            )
            for text in shown:
                console.say(text)
            # A name that went on in the next line could pass for one of the request.
            question = f"Approve {cut(name_of(request), max(min(_NAME, columns - _AROUND), 0))}? {grammar} "
            for _ in range(WRONG_ANSWERS):
                # What was typed before the question does not answer it: the request was not shown yet.
                fresh: dict[str, Any] = {"fresh": True} if terminal else {}
                given_line = console.ask(question, deadline=deadline, **fresh)
                line = str(given_line.value) if isinstance(given_line, Answer) else given_line
                if line is None:
                    if not deadline.stopped:
                        console.say("The input ended without an answer; `--approval inbox` lets people answer later.")
                    return None
                answer = _parse(line, word)
                if answer is not None:
                    self._answers[ticket.ticket_id] = given + 1
                    return self._answer(ticket, answer, line=line, method="stdin" if terminal else "piped")
                console.say(f"Please answer with {grammar}.")
            console.say(f"None of {WRONG_ANSWERS} lines was an answer.")
            return None

    def _answer(
        self, ticket: ApprovalTicket, answer: tuple[bool, str, str], *, line: str, method: str
    ) -> ApprovalResponse:
        approved, approver, reason = answer
        return ApprovalResponse(
            ticket_id=ticket.ticket_id,
            approved=approved,
            approver_id=approver or self._services.actor or "operator",
            method=method,
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            reason=reason or None,
            line=line,
        )

    def close(self) -> None:
        """Do nothing: no connection is kept."""


def _parse(line: str, word: str) -> tuple[bool, str, str] | None:
    """Return what a line says: whether it approves, who and why; None: it is not an answer.

    ``word`` is what approves instead of yes. Where a step is called ``n``, that is no.
    """
    said = line.strip()  # blanks at the end would be tried again and again in front of it
    if found := re.fullmatch(rf"(?:{_NO}){_REST}", said, re.IGNORECASE | re.DOTALL):
        return False, found[1] or "", found[2] or ""
    approving = re.escape(word) if word else f"(?i:{_YES})"
    if found := re.fullmatch(rf"(?:{approving}){_REST}", said, re.DOTALL):
        return True, found[1] or "", found[2] or ""
    return None


def _again(request: ApprovalRequest) -> str:
    """Explain why one answer was not enough."""
    people = "an approver" if request.min_approvers == 1 else f"{request.min_approvers} different approvers"
    other = f" other than {escape(request.requested_by)}" if request.exclude_actor else ""
    return f"{name_of(request)} needs {people}{other}."


def open_session(services: Services) -> StdinSession:
    """Open the provider for one run."""
    return StdinSession(services)


__all__ = ["StdinSession", "open_session"]
