"""How far a run is: one pure function of its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.results import RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.runs.state import RunState, StepState

TASK_PROGRESS: Final = "task_progress"
"""The type of the summary in which a step tells its units of work."""
UNIT_STATES: Final = ("pending", "in_progress", "done", "failed")
ALMOST: Final = 99
"""The most that counted steps amount to before the run is completed."""
_STATUSES: Final[dict[str, str]] = {
    RunStatus.QUEUED: "queued",
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.ERROR: "failed",
    RunStatus.CANCELLED: "cancelled",
}


class RunProgress(Struct, frozen=True, kw_only=True):
    """How far a run is; ``status`` is ``queued``, ``running``, ``completed``, ``failed`` or ``cancelled``."""

    status: str
    percent: int
    current_stage: str | None = None
    completed_stages: tuple[str, ...] = ()
    eta_seconds: int | None = None
    """How long it takes still: 0 when it is completed, else unknown."""

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert runs progress --json``."""
        return {
            "status": self.status,
            "percent": self.percent,
            "current_stage": self.current_stage,
            "completed_stages": list(self.completed_stages),
            "eta_seconds": self.eta_seconds,
        }


def progress_of(state: RunState) -> RunProgress:
    """Return how far a run is.

    The units of its latest ``task_progress`` count; without any, the steps of the runbook that are in no other step. A
    run that waits for people or was interrupted is ``running``; one that failed stays where it was.
    """
    status = _STATUSES.get(state.status, "running")
    units = task_units((state.summaries.get(TASK_PROGRESS) or {}).get("payload"))
    percent, current, completed = _by_units(units) if units else _by_steps(state)
    if status == "completed":
        return RunProgress(status=status, percent=100, completed_stages=completed, eta_seconds=0)
    return RunProgress(status=status, percent=percent, current_stage=current, completed_stages=completed)


def task_units(payload: object) -> list[tuple[str, str]]:
    """Return id and state of every unit of a ``task_progress``; nothing when it is not one."""
    units = payload.get("units") if isinstance(payload, dict) else None
    if not isinstance(units, list):
        return []
    found = [_unit(unit) for unit in units]
    return [unit for unit in found if unit is not None] if None not in found else []


def _unit(unit: Any) -> tuple[str, str] | None:
    if not isinstance(unit, dict) or not isinstance(unit.get("id"), str) or unit.get("state") not in UNIT_STATES:
        return None
    return unit["id"], unit["state"]


def _by_units(units: list[tuple[str, str]]) -> tuple[int, str | None, tuple[str, ...]]:
    completed = tuple(name for name, state in units if state == "done")
    current = next((name for wanted in ("in_progress", "failed") for name, state in units if state == wanted), None)
    return 100 * len(completed) // len(units), current, completed


def _by_steps(state: RunState) -> tuple[int, str | None, tuple[str, ...]]:
    """Return percent, current stage and completed ones; the stages are the steps that ``run_start`` names.

    A trace that does not name them cannot tell how many are still to come: it is at 0 until it is completed.
    """
    stages = state.facts.get("stages")
    known = set(map(str, stages)) if isinstance(stages, list) else set[str]()
    ended = sorted((record for record in _top(state) if record.done), key=lambda record: record.ended)
    completed = tuple(dict.fromkeys(record.step_id for record in ended if not record.failed))
    running = next((record.step_id for record in _top(state) if not record.done), None)
    current = running if running is not None else (ended[-1].step_id if ended else None)
    percent = 100 * len(known & set(completed)) // len(known) if known else 0
    return min(percent, ALMOST), current, completed


def _top(state: RunState) -> Iterator[StepState]:
    return (record for key, record in state.steps.items() if is_stage(key))


def is_stage(key: str) -> bool:
    """Return whether a key is that of a step in no other step and not in the cleanup of the run."""
    return "/" not in key and not key.endswith("]")


__all__ = ["ALMOST", "TASK_PROGRESS", "UNIT_STATES", "RunProgress", "is_stage", "progress_of", "task_units"]
