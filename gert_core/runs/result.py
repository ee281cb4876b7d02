"""The result of a run, as hosts, the command line and tests read it: a view of the run's state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gert_core.api.results import Outcome, RunStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api.stores import StoredRun
    from gert_core.documents.tree import Runbook
    from gert_core.runs.state import Failure, RunState, StepState
    from gert_core.template import Variables


class RunResult(Struct, frozen=True, kw_only=True):
    """How a run stands or ended, the same for a run that just ended and for one read from its trace.

    Everything is read from ``state``, so it is masked. What no trace records stands beside it: ``variables``, ``book``
    and ``possible`` are known only to the process that executed the run.
    """

    state: RunState
    trace: Path | None
    """The file with the trace: the null device for a run that keeps none, ``None`` in a store without files."""
    variables: Variables | None = None
    """The variables when the run stopped, unmasked; for expectations of tests."""
    stored: StoredRun | None = None
    """The run in its store, where that is known."""
    book: Runbook | None = None
    """The runbook, which tells where steps stand; ``None`` where the trace alone was read."""
    possible: tuple[Outcome, ...] = ()
    """The outcomes that a dry-run or probe reached without knowing which it will be."""

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return self.state.run_id

    @property
    def option(self) -> str:
        """Return what commands need to find the run's store (`` --store URL``); nothing for the usual one."""
        return "" if self.stored is None else self.stored.option

    @property
    def place(self) -> str | None:
        """Return where the trace is: a path, or the run and its store; None for a run that is not kept."""
        if self.traced:
            return str(self.trace)
        return self.stored.place if self.stored is not None and self.trace is None else None

    @property
    def runbook(self) -> str:
        """Return the runbook's name."""
        return self.state.runbook

    @property
    def mode(self) -> str:
        """Return the mode it was executed in: ``real``, ``dry-run``, ``probe`` or ``replay``."""
        return self.state.mode

    @property
    def traced(self) -> bool:
        """Return whether there is a file with the trace."""
        return self.trace is not None and str(self.trace) != os.devnull

    @property
    def status(self) -> RunStatus:
        """Return the run's status; a status that gert does not know counts as ``error``."""
        try:
            return RunStatus(self.state.status)
        except ValueError:
            return RunStatus.ERROR

    @property
    def outcome(self) -> Outcome | None:
        """Return the outcome of a completed run."""
        return outcome_of(self.state)

    @property
    def duration(self) -> str | None:
        """Return how long all processes of the run were at work, as text (``"4.204s"``)."""
        return self.state.duration

    @property
    def waited(self) -> str | None:
        """Return how long the run waited for people, which ``duration`` leaves out; ``None`` when it did not."""
        return self.state.waited

    @property
    def steps(self) -> list[StepState]:
        """Return the steps that are over, in the order they ended."""
        return self.state.executed

    @property
    def outputs(self) -> Mapping[str, object]:
        """Return the promoted and exported names with their values."""
        return self.state.outputs

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return why the run did not complete, the failure that decided it first."""
        return self.state.failures

    @property
    def pending(self) -> list[dict[str, object]]:
        """Return the open tickets of a run that is not finished."""
        return [] if self.finished else self.state.pending

    @property
    def questions(self) -> list[dict[str, Any]]:
        """Return what people have not answered in a run that is not finished."""
        return [] if self.finished else self.state.unanswered

    @property
    def finished(self) -> bool:
        """Return whether nothing is left to do: a run that was cancelled can go on."""
        return self.state.over and self.status is not RunStatus.CANCELLED

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``exec --json`` and ``resume --json``."""
        failures, outcome = self.failures, self.outcome
        out = {
            "run_id": self.run_id,
            "runbook": self.runbook,
            "mode": self.mode,
            "status": str(self.status),
            "outcome": outcome.to_json() if outcome is not None else None,
            "duration": self.duration,
            **({} if self.waited is None else {"waited": self.waited}),
            "trace": str(self.trace) if self.traced else None,
            "steps": [step.to_json() for step in self.steps],
            "outputs": dict(self.outputs),
            "failure": failures[0].to_json() if failures else None,
            "failures": [failure.to_json() for failure in failures],
            "pending": self.pending,
            "questions": self.questions,
        }
        if self.state.holds and not self.finished:
            out["blocked"] = [hold.to_json() for hold in self.state.holds]
        if self.possible:
            out["possible_outcomes"] = [outcome.to_json() for outcome in self.possible]
        return out


def outcome_of(state: RunState) -> Outcome | None:
    """Return the outcome that a state records."""
    found = state.outcome
    if found is None:
        return None
    meta = found.get("meta") or {}
    return Outcome(category=str(found.get("category") or ""), code=str(found.get("code") or ""), meta=meta)


def failed_by_itself(key: str, failure: object) -> bool:
    """Return whether a step with steps below it failed by itself; the failure of one of these is told there."""
    message = str((failure.get("message") if isinstance(failure, dict) else None) or "")
    return bool(message) and not message.startswith(f"step {key}/")


__all__ = ["RunResult", "failed_by_itself", "outcome_of"]
