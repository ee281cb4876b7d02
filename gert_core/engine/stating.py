"""Leave a run suspended as it stands, or have it go on: results were stated, or a resume was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, EventType, RunStatus
from gert_core.engine.again import RunAgain
from gert_core.engine.run_events import suspension, write_start
from gert_core.values import format_duration

if TYPE_CHECKING:
    from gert_core.api import RunError
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Signal

_REFUSED: Final = (ErrorKind.DRIFT, ErrorKind.RESUME_DIVERGED)
"""Why a run cannot go on in this way and can in another; a trace that somebody altered is not sealed anew."""


def state_results(run: Run) -> None:
    """Write the results that a prepared resumption states, and suspend the run as it stands then."""
    write_start(run)
    _suspend(run, 0.0)


def suspend_refused(run: Run, error: RunError, seconds: float) -> None:
    """Suspend a run whose resume is refused after it began: what it waited for before, it waits for again."""
    if run.facts.resumption is not None and error.kind in _REFUSED:
        _suspend(run, seconds)


def go_on(run: Run, signal: Signal, written: int) -> None:
    """Raise ``RunAgain`` for a run that waits for no person: for a secret output, or for what was approved meanwhile.

    ``written`` is the number of the last event before its first step. Where a step waits beside an approval, somebody
    is asked for it, or it was given since, or never can be.
    """
    journal, recorded = run.services.journal, run.services.recorded
    if signal.again or (not journal.state.tickets and journal.writer.seq > written):
        journal.sync()
        raise RunAgain(tuple(dict.fromkeys(signal.again)), known=run.services.masker.learned)
    if not journal.state.tickets and recorded is not None:
        recorded.gates.refuse_waiting()


def _suspend(run: Run, seconds: float) -> None:
    state = run.services.journal.state
    asking = dict.fromkeys(str(question["step_key"]) for question in state.unanswered)
    keys = [hold.key for hold in state.holds]
    data = suspension(state.tickets, questions=asking, blocked=keys, default=RunStatus.QUEUED)
    run.services.journal.close(EventType.RUN_SUSPENDED, {**data, "duration": format_duration(seconds)})


__all__ = ["go_on", "state_results", "suspend_refused"]
