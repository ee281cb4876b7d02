"""Steps that nobody may simply run again: which they are, and what a person says became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, RunError, StepStatus, UsageError
from gert_core.contracts import Contracts
from gert_core.runs.state import parent_key
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tree import Runbook
    from gert_core.runs.state import RunState, StepState

VERDICTS: Final = ("done", "redo", "failed")


def settle(
    state: RunState,
    runbook: Runbook,
    *,
    verdicts: Mapping[str, str],
    outputs: Mapping[str, Mapping[str, object]],
    retry: bool,
) -> dict[str, dict[str, object]]:
    """The ``step_complete`` data of steps settled by a person; refuse to go on while one is open.

    An interrupted step may have taken effect or not. One that failed (``retry``) may have taken effect in part, so
    running it again is under the same rule: its contract decides, or a person does.
    """
    unknown = {record.key: record for record in state.unknown_outcomes}
    if retry:
        unknown |= {record.key: record for record in state.risky_retries}
    _check(verdicts, outputs, unknown)
    still = [record for key, record in unknown.items() if key not in verdicts]
    if still:
        raise _unknown(state.run_id, still, retry=retry)
    return {
        key: _completion(unknown[key], verdict, _typed(unknown[key], outputs.get(key, {}), runbook))
        for key, verdict in verdicts.items()
        if verdict != "redo"
    }


def voided(state: RunState) -> list[str]:
    """The failing steps and everything they stand in, to be run again; refuse when there is nothing to run again."""
    keys: dict[str, None] = {}
    for failing in state.failing:
        record = state.steps.get(failing)
        if record is not None and record.reason == ErrorKind.APPROVAL_REJECTED:
            raise RunError(
                f"step {failing} was not approved, and a step is put to approval once in a run",
                kind=ErrorKind.NOT_RESUMABLE,
                hint="start a new run",
            )
        key = failing
        while key:
            keys[key] = None
            key = parent_key(key)
    found = [key for key in keys if key in state.steps]
    if not found:
        why = (state.failure or {}).get("message") or "no step failed"
        raise RunError(
            f"run {state.run_id} has no failed step to run again: {why}",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="start a new run",
        )
    return found


def _check(
    verdicts: Mapping[str, str], outputs: Mapping[str, Mapping[str, object]], unknown: Mapping[str, StepState]
) -> None:
    for key, verdict in verdicts.items():
        if key not in unknown:
            raise UsageError(
                f"--reconcile names {key!r}, whose outcome is not unknown",
                hint=f"unknown are: {', '.join(unknown) or 'none'}",
            )
        if verdict not in VERDICTS:
            raise UsageError(f"--reconcile {key} takes {', '.join(VERDICTS)}, not {verdict!r}")
    for key in outputs:
        if verdicts.get(key) != "done":
            raise UsageError(f"--outputs are for steps reconciled as done, and {key!r} is not")


def _unknown(run_id: str, still: list[StepState], *, retry: bool) -> RunError:
    names = ", ".join(record.key for record in still)
    word = "failed" if all(record.done for record in still) else "was interrupted"
    command = f"gert resume --run {run_id}{' --retry-failed' if retry else ''}"
    choices = "".join(f" --reconcile {record.key}=done|redo|failed" for record in still)
    return RunError(
        f"nobody knows whether {names} took effect: it writes, is not idempotent and {word}",
        kind=ErrorKind.UNKNOWN_OUTCOME,
        hint=f"look, then: {command}{choices}",
    )


def _typed(record: StepState, outputs: Mapping[str, object], runbook: Runbook) -> dict[str, object]:
    """Outputs a person states keep to the contract as the step's own would have to."""
    node = runbook.by_id.get(record.step_id)
    if node is None or not outputs:
        return dict(outputs)
    declared = Contracts(runbook).of(node).outputs
    typed: dict[str, object] = {}
    for name, value in outputs.items():
        if declared and name not in declared:
            raise UsageError(
                f"--outputs gives {name!r}, which {record.key} does not declare",
                hint=f"it declares {', '.join(declared)}",
            )
        try:
            typed[name] = coerce(value, declared[name].type) if name in declared else value
        except ValueError as error:
            raise UsageError(f"--outputs: {name!r} of {record.key}: {error}") from None
    return typed


def _completion(record: StepState, verdict: str, outputs: Mapping[str, object]) -> dict[str, object]:
    data: dict[str, object] = {"step_id": record.step_id, "type": record.type, "status": str(StepStatus.SUCCESS)}
    if verdict == "failed":
        data["status"] = str(StepStatus.FAILED)
        data["failure"] = {"kind": "reconciled", "message": "a person found that it had not taken effect"}
    return {**data, "outputs": dict(outputs), "reconciled": verdict, "duration": "0.000s"}


__all__ = ["VERDICTS", "settle", "voided"]
