"""Withdraw what an aborted run asked people for steps that it does not execute any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from gert_core.runs.state import RunState

WITHDRAWN: Final = "withdrawn"
"""The status of an approval that its run does not wait for any more."""


def withdraw(state: RunState, *, tickets: Collection[str] = (), questions: Collection[str] = ()) -> None:
    """Remove tickets and questions that a run does not wait for; it still waits for the given ones."""
    for ticket_id in [ticket_id for ticket_id in state.tickets if ticket_id not in tickets]:
        known = state.approvals.get(str(state.tickets.pop(ticket_id).get("step_key")))
        if known is not None and known.get("ticket_id") == ticket_id:
            known["status"] = WITHDRAWN
    for key in [key for key in state.questions if key not in questions]:
        del state.questions[key]


__all__ = ["WITHDRAWN", "withdraw"]
