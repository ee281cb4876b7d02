"""Find the steps that must not simply run again, and take the results that people state for them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, RunError, StepStatus, UsageError
from gert_core.contracts import Contracts
from gert_core.engine.steps.secret_outputs import SHORTEST
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gert_core.documents.tree import Runbook
    from gert_core.runs.state import RunState, StepState

DECISIONS: Final = ("done", "redo", "failed")


def stated_results(
    state: RunState,
    runbook: Runbook,
    *,
    unknown: Sequence[StepState],
    decisions: Mapping[str, str],
    outputs: Mapping[str, Mapping[str, object]],
    again: Sequence[StepState] | None,
    whole: frozenset[str] = frozenset(),
    option: str = "",
) -> dict[str, dict[str, object]]:
    """Return the ``step_complete`` data of steps that a person decided; refuse while one is undecided.

    An interrupted step (``unknown``) may have taken effect or not. To retry a step that failed or took effect
    (``again``) is under the same rule: its contract decides, or a person does; of those that run again because all of a
    step does (``whole``), for all of them at once. One that succeeded and stays ``done`` keeps its result.
    """
    open_ = {record.key: record for record in (*unknown, *(again or ()))}
    _check(decisions, outputs, open_)
    still = [record for key, record in open_.items() if key not in decisions]
    if still:
        raise _unknown(f"{state.run_id}{option}", still, retry=again is not None, whole=whole)
    return {
        key: _completion(open_[key], decision, _typed(open_[key], outputs.get(key, {}), runbook))
        for key, decision in decisions.items()
        if decision != "redo" and not _stays(open_[key], decision, outputs)
    }


def kept_results(
    again: Sequence[StepState], decisions: Mapping[str, str], outputs: Mapping[str, Mapping[str, object]]
) -> list[str]:
    """Return the keys of steps that succeeded and keep their recorded result."""
    return [record.key for record in again if _stays(record, decisions.get(record.key, ""), outputs)]


def _stays(record: StepState, decision: str, outputs: Mapping[str, object]) -> bool:
    return decision == "done" and record.status == StepStatus.SUCCESS and record.key not in outputs


def refuse_strangers(named: Iterable[str], steps: Mapping[str, StepState]) -> None:
    """Refuse the key of a step that the run does not have; a result may be stated twice."""
    for key in named:
        if key not in steps:
            raise UsageError(
                f"--reconcile names {key!r}, and the run has no such step",
                hint=f"steps are: {', '.join(steps) or 'none'}",
            )


def check_decision(key: str, decision: str) -> None:
    """Refuse a word that is not the result of an interrupted step."""
    if decision not in DECISIONS:
        raise UsageError(f"--reconcile {key} takes {', '.join(DECISIONS)}, not {decision!r}")


def _check(
    decisions: Mapping[str, str], outputs: Mapping[str, Mapping[str, object]], unknown: Mapping[str, StepState]
) -> None:
    for key, decision in decisions.items():
        if key not in unknown:
            raise UsageError(
                f"--reconcile names {key!r}, whose outcome is not unknown",
                hint=f"unknown are: {', '.join(unknown) or 'none'}",
            )
        check_decision(key, decision)
    for key in outputs:
        if decisions.get(key) != "done":
            raise UsageError(f"--outputs are for steps reconciled as done, and {key!r} is not")


def _unknown(named: str, still: list[StepState], *, retry: bool, whole: frozenset[str]) -> RunError:
    done = [record.key for record in still if record.status == StepStatus.SUCCESS]
    open_ = [record for record in still if record.key not in done]
    sentences = []
    if open_:
        names = ", ".join(record.key for record in open_)
        word = "failed" if all(record.done for record in open_) else "was interrupted"
        what = "they write, are" if len(open_) > 1 else "it writes, is"
        word = word.replace("was", "were") if len(open_) > 1 else word
        sentences.append(f"cannot determine whether {names} took effect: {what} not idempotent and {word}")
    if done:
        what = "they write, are" if len(done) > 1 else "it writes, is"
        sentences.append(f"{', '.join(done)} would run again: {what} not idempotent and succeeded")
    command = f"gert resume --run {named}{' --retry-failed' if retry else ''}"
    # In quotes: pasted into a shell as it is, it must not run with the first of the choices.
    choices = "".join(f" --reconcile {shlex.quote(f'{record.key}=done|redo|failed')}" for record in still)
    hint = f"look, then: {command}{choices}"
    if all(record.key in whole for record in still):
        sentences.append("cleanup ran since, or the step around failed by itself, so everything in it would run again")
        hint = f"look, then run all of them again: {command} --yes; or say what became of each: {command}{choices}"
    return RunError("; ".join(sentences), kind=ErrorKind.UNKNOWN_OUTCOME, hint=hint)


def _typed(record: StepState, outputs: Mapping[str, object], runbook: Runbook) -> dict[str, object]:
    """Return the outputs that a person stated, coerced to the contract as the step's own would be."""
    found = runbook.find(record.key)
    if found is None or not outputs:
        return dict(outputs)
    declared = Contracts(found[0]).of(found[1]).outputs
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
            why = "a secret output is a string; its value is not shown" if declared[name].secret else error
            raise UsageError(f"--outputs: {name!r} of {record.key}: {why}") from None
        if name in declared and declared[name].secret and len(str(typed[name])) < SHORTEST:
            raise UsageError(
                f"--outputs: {name!r} of {record.key} is secret and has less than {SHORTEST} characters",
                hint="shorter values cannot be masked safely",
            )
    return typed


def _completion(record: StepState, decision: str, outputs: Mapping[str, object]) -> dict[str, object]:
    data: dict[str, object] = {"step_id": record.step_id, "type": record.type, "status": str(StepStatus.SUCCESS)}
    if decision == "failed":
        data["status"] = str(StepStatus.FAILED)
        data["failure"] = {"kind": "reconciled", "message": "a person stated that it had not taken effect"}
    return {**data, "outputs": dict(outputs), "reconciled": decision, "duration": "0.000s"}


__all__ = ["DECISIONS", "check_decision", "kept_results", "stated_results"]
