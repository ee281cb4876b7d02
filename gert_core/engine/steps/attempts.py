"""Count the attempts of a step, across processes, and keep them as variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, EventType
from gert_core.engine.state import ATTEMPTS, RETRY_COUNT
from gert_core.engine.steps.compiled import summary_of
from gert_core.template import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.resume.recorded import Recorded
    from gert_core.engine.steps.execution import StepExecution


def add_attempt(execution: StepExecution, reason: str) -> None:
    """Trace what is to be known about this attempt: that it is another one, or that it started nothing."""
    data: dict[str, object] = {"step_id": execution.compiled.id, "attempt": execution.attempt, "reason": reason}
    if _has_another_contract(execution):
        data["contract_summary"] = summary_of(execution.contract)
    execution.add(EventType.STEP_ATTEMPT, data, fresh=True)


def _has_another_contract(execution: StepExecution) -> bool:
    """Return whether documents changed since an earlier process started the step, so that other rules hold for it."""
    if execution.services.recorded is None:
        return False
    record = execution.services.recorded.state.steps.get(execution.key)
    now = execution.contract
    return record is not None and (record.writing, record.idempotent) != (now.writing, now.idempotent)


def add_cancelled(execution: StepExecution, detail: Mapping[str, object]) -> None:
    """Trace what a tool had written when the run was cancelled; the step stays open."""
    from gert_core.engine.steps.exports import completion_data, mask_failure

    failure = {"kind": ErrorKind.CANCELLED, "message": ""}
    kept = mask_failure(completion_data({}, {}, failure, detail), execution.services.masker)["detail"]
    data = {"step_id": execution.compiled.id, "attempt": execution.attempt, "reason": ErrorKind.CANCELLED.value}
    execution.add(EventType.STEP_ATTEMPT, {**data, "detail": kept}, fresh=True)


def continue_attempts(execution: StepExecution, recorded: Recorded) -> None:
    """Trace that a step which an earlier process started is attempted again."""
    before = recorded.attempts(execution.key)
    if before:
        asking = recorded.asking(execution.key)
        execution.attempt = before if asking else before + 1
        count_retries(execution, recorded.retries(execution.key))
        if not asking:
            add_attempt(execution, "resumed")


def restore_attempts(execution: StepExecution, recorded: Recorded) -> None:
    """Take the number of attempts of a step whose result is recorded."""
    execution.attempt = recorded.attempts(execution.key) or 1
    count_retries(execution, recorded.retries(execution.key))


def count_retries(execution: StepExecution, number: int) -> None:
    """Count retries for ``retry_count``; items of a loop have none of their own."""
    if execution.item is None:
        for _ in range(number):
            execution.layer.count_jump(execution.compiled.id)


def keep_attempts(execution: StepExecution) -> None:
    """Add the attempts to what is known of a finished step; in dry-run a symbol where a policy may make several."""
    step_id, own = execution.compiled.id, execution.layer.own
    counts: dict[str, object] = {ATTEMPTS: execution.attempt}
    if execution.compiled.retry is not None and execution.substituted and execution.services.backend.symbolic:
        counts = {name: Symbol(f"{{{{ .{step_id}.{name} }}}}") for name in (ATTEMPTS, RETRY_COUNT)}
    own[step_id] = {**own[step_id], **counts}


__all__ = ["add_attempt", "continue_attempts", "count_retries", "keep_attempts", "restore_attempts"]
