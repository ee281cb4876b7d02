"""State what became of interrupted steps, and leave the run suspended: nothing is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import EventType, RunStatus
from gert_core.engine.run_events import suspension, write_start

if TYPE_CHECKING:
    from gert_core.engine.run import Run


def state_results(run: Run) -> None:
    """Write the results that a prepared resumption states, and suspend the run as it stands then."""
    write_start(run)
    state = run.services.journal.state
    asking = dict.fromkeys(str(question["step_key"]) for question in state.unanswered)
    keys = [hold.key for hold in state.holds]
    data = suspension(state.tickets, questions=asking, blocked=keys, default=RunStatus.QUEUED)
    run.services.journal.close(EventType.RUN_SUSPENDED, {**data, "duration": "0.000s"})


__all__ = ["state_results"]
