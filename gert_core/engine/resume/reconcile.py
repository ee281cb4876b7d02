"""Finds the steps that must not simply run again, and takes the results that people state for them."""

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

DECISIONS: Final = ("done", "redo", "failed")


def stated_results(
    state: RunState,
    runbook: Runbook,
    *,
    decisions: Mapping[str, str],
    outputs: Mapping[str, Mapping[str, object]],
    retry: bool,
) -> dict[str, dict[str, object]]:
    """Return the ``step_complete`` data of steps that a person decided; refuse while one is undecided.

    An interrupted step may have taken effect or not. One that failed (``retry``) may have taken effect in part, so
    running it again is under the same rule: its contract decides, or a person does.
    """
    unknown = {record.key: record for record in state.unknown_outcomes}
    if retry:
        unknown |= {record.key: record for record in state.risky_retries}
    _check(decisions, outputs, unknown)
    still = [record for key, record in unknown.items() if key not in decisions]
    if still:
        raise _unknown(state.run_id, still, retry=retry)
    return {
        key: _completion(unknown[key], decision, _typed(unknown[key], outputs.get(key, {}), runbook))
        for key, decision in decisions.items()
        if decision != "redo"
    }


def keys_to_retry(state: RunState) -> list[str]:
    """Return the keys of the failing steps and of the steps around them; refuse when there is nothing to retry."""
    keys: dict[str, None] = {}
    for failing in state.failing:
        record = state.steps.get(failing)
        if record is not None and record.reason == "approval_rejected":
            raise RunError(
                f"step {failing} was not approved, and a run asks once for the approval of a step",
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
    decisions: Mapping[str, str], outputs: Mapping[str, Mapping[str, object]], unknown: Mapping[str, StepState]
) -> None:
    for key, decision in decisions.items():
        if key not in unknown:
            raise UsageError(
                f"--reconcile names {key!r}, whose outcome is not unknown",
                hint=f"unknown are: {', '.join(unknown) or 'none'}",
            )
        if decision not in DECISIONS:
            raise UsageError(f"--reconcile {key} takes {', '.join(DECISIONS)}, not {decision!r}")
    for key in outputs:
        if decisions.get(key) != "done":
            raise UsageError(f"--outputs are for steps reconciled as done, and {key!r} is not")


def _unknown(run_id: str, still: list[StepState], *, retry: bool) -> RunError:
    names = ", ".join(record.key for record in still)
    word = "failed" if all(record.done for record in still) else "was interrupted"
    command = f"gert resume --run {run_id}{' --retry-failed' if retry else ''}"
    choices = "".join(f" --reconcile {record.key}=done|redo|failed" for record in still)
    return RunError(
        f"cannot determine whether {names} took effect: it writes, is not idempotent and {word}",
        kind=ErrorKind.UNKNOWN_OUTCOME,
        hint=f"look, then: {command}{choices}",
    )


def _typed(record: StepState, outputs: Mapping[str, object], runbook: Runbook) -> dict[str, object]:
    """Return the outputs that a person stated, coerced to the contract as the step's own would be."""
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


def _completion(record: StepState, decision: str, outputs: Mapping[str, object]) -> dict[str, object]:
    data: dict[str, object] = {"step_id": record.step_id, "type": record.type, "status": str(StepStatus.SUCCESS)}
    if decision == "failed":
        data["status"] = str(StepStatus.FAILED)
        data["failure"] = {"kind": "reconciled", "message": "a person stated that it had not taken effect"}
    return {**data, "outputs": dict(outputs), "reconciled": decision, "duration": "0.000s"}


__all__ = ["DECISIONS", "keys_to_retry", "stated_results"]
