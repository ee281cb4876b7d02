"""How a run came out: the result that hosts, the command line and tests are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api import RunStatus
from gert_core.engine.signals import Failure, Rank
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import Outcome
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Signal
    from gert_core.engine.state import Layer


class RunResult(Struct, frozen=True, kw_only=True):
    """How a run came out; ``variables`` is the final state, for expectations of tests."""

    run_id: str
    runbook: str
    status: RunStatus
    duration: float
    trace: Path
    outcome: Outcome | None = None
    possible: tuple[Outcome, ...] = ()
    steps: tuple[tuple[str, str, str, str], ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    pending: tuple[Mapping[str, Any], ...] = ()
    variables: Layer | None = None

    def to_json(self) -> dict[str, Any]:
        """The document of ``exec --json`` and ``resume --json``; mask it before printing."""
        out = {
            "run_id": self.run_id,
            "runbook": self.runbook,
            "status": str(self.status),
            "outcome": self.outcome.to_json() if self.outcome else None,
            "duration": format_duration(self.duration),
            "trace": str(self.trace),
            "steps": [dict(zip(("step_key", "step_id", "type", "status"), step, strict=True)) for step in self.steps],
            "outputs": dict(self.outputs),
            "failure": self.failures[0].to_json() if self.failures else None,
            "pending": list(self.pending),
        }
        if self.possible:
            out["possible_outcomes"] = [outcome.to_json() for outcome in self.possible]
        return out


def result_of(run: Run, signal: Signal | None, layer: Layer, duration: float) -> RunResult:
    """The result of a run whose steps stopped with ``signal``, or came to their end without one."""
    status, outcome = RunStatus.ERROR, None
    failures: tuple[Failure, ...] = ()
    if signal is None:
        if run.backend.symbolic:
            status = RunStatus.COMPLETED
        else:
            failures = (_no_outcome(),)
    elif signal.rank is Rank.ENDED:
        # A rehearsal that saw several ends does not know which one it will be.
        undecided = run.backend.symbolic and len(run.possible) != 1
        status, outcome = RunStatus.COMPLETED, None if undecided else signal.outcome or run.possible[0]
    elif signal.rank is Rank.CANCELLED:
        status, failures = RunStatus.CANCELLED, signal.ordered
    elif signal.rank is Rank.SUSPENDED:
        status = RunStatus.APPROVAL_PENDING
    else:
        failures = signal.ordered
        status = RunStatus.ERROR if signal.status == "error" else RunStatus.FAILED
    return RunResult(
        run_id=run.run_id,
        runbook=run.runbook.name,
        status=status,
        duration=duration,
        trace=run.journal.writer.path,
        outcome=outcome,
        possible=tuple(run.possible) if run.backend.symbolic and outcome is None else (),
        steps=tuple(run.steps),
        outputs=layer.globals(),
        failures=failures,
        pending=run.tickets(signal.tickets) if signal is not None else (),
        variables=layer,
    )


def _no_outcome() -> Failure:
    return Failure(key="", step_id="", status="error", kind="no_outcome", message="the steps ended without an outcome")


__all__ = ["RunResult", "result_of"]
