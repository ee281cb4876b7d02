"""Runs and tickets as hosts look at them: what the commands print as JSON, and what can be done next."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gert_core.api import RunStatus, TicketState
from gert_core.hosting.advice import next_steps_of
from gert_core.runs.again import resume_command
from gert_core.runs.document import row_document, run_document
from gert_core.runs.lifecycle.status import standing_of
from gert_core.runs.listing import run_info
from gert_core.runs.places import located

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import ApprovalRequest, Comment, StoredRun
    from gert_core.approvals.inbox import TicketEntry
    from gert_core.runs.lifecycle.status import Standing
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.result import RunResult
    from gert_core.runs.state import RunState


class RunView:
    """One run of a store as it stood when it was looked at."""

    __slots__ = ("_info",)

    def __init__(self, run: StoredRun) -> None:
        self._info = run_info(run)

    @property
    def info(self) -> RunInfo:
        """What is known about it, whatever state it is in."""
        return self._info

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return self._info.run_id

    @property
    def status(self) -> str:
        """Return its status: that of its trace, ``interrupted`` or ``unreadable``."""
        return str(self._info.status)

    @property
    def state(self) -> RunState | None:
        """Return the fold of its trace; None when it cannot be read."""
        return self._info.state

    @property
    def standing(self) -> Standing:
        """Return where it stands: ``gert runs status``."""
        return standing_of(self._info)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``gert runs show --json``."""
        return {**run_document(self._info), "next": next_steps(self)}


class TicketView:
    """One ticket of one run, with its answers so far."""

    __slots__ = ("_since", "entry")

    def __init__(self, entry: TicketEntry, since: Callable[[ApprovalRequest], Mapping[str, Any] | None]) -> None:
        self.entry = entry
        self._since = since

    @property
    def ticket_id(self) -> str:
        """Return the ticket's id."""
        return self.entry.request.ticket_id

    @property
    def request(self) -> ApprovalRequest:
        """Return what is to be approved."""
        return self.entry.request

    @property
    def status(self) -> str:
        """Return ``pending``, ``answered`` (the run has to go on), ``expired``, or how it was resolved."""
        return self.entry.status(datetime.now(UTC))

    @property
    def since_last(self) -> Mapping[str, Any] | None:
        """Return the last approved request of the same runbook and step, and what ``changed``; None without one."""
        return self._since(self.entry.request)

    @property
    def comments(self) -> list[Comment]:
        """Return what people asked or said about it; never an answer."""
        return self.entry.comments

    @property
    def state(self) -> TicketState:
        """Return where it stands, with the answers so far and what became of its run."""
        entry, info = self.entry, run_info(self.entry.run)
        return TicketState(
            request=entry.request,
            status=self.status,
            approvers=entry.approvers,
            unverified=entry.standing.unverified,
            answers=entry.answers,
            since_last=self.since_last,
            comments=tuple(self.comments),
            run_status=str(info.status),
            outcome=None if info.state is None else info.state.outcome,
            resume=resume_command(info.run_id, info.state),
        )

    def to_json(self) -> dict[str, Any]:
        """Return an entry of ``gert approvals list --json``, and ``since_last``."""
        return {**self.entry.to_json(datetime.now(UTC)), "since_last": self.since_last}


def next_steps(view: RunView) -> list[dict[str, Any]]:
    """Return what can be done about a run next: why, and the complete command, the likeliest first."""
    return [step.to_json() for step in next_steps_of(view.info)]


def result_document(result: RunResult, view: Callable[[str], RunView]) -> dict[str, Any]:
    """Return the document of ``gert exec --json``; ``view`` returns a run of the store."""
    kept = result.mode == "real" and result.status is not RunStatus.COMPLETED
    return {**located(result), "next": next_steps(view(result.run_id)) if kept else []}


__all__ = ["RunView", "TicketView", "next_steps", "result_document", "row_document"]
