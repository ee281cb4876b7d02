"""Attempt a step several times, as its retry policy says; what was approved is compared again before each attempt."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gert_core.api import Errored, EventType, Failed, StepProblem, StepStatus
from gert_core.engine.signals import CANCELLED, Rank
from gert_core.engine.steps.attempt import attempt
from gert_core.engine.steps.attempts import add_attempt, count_retries
from gert_core.engine.steps.close import close
from gert_core.engine.steps.exports import completion_data, mask_failure
from gert_core.trace.writer import EventDataError
from gert_core.values import format_duration

if TYPE_CHECKING:
    from gert_core.documents.retry import RetryPolicy
    from gert_core.engine.flow.frame import Done
    from gert_core.engine.steps.execution import StepExecution


def run_attempts(execution: StepExecution, policy: RetryPolicy) -> Done:
    """Attempt the step until it succeeds or the policy allows no further attempt; close it with the last result."""
    while True:
        execution.deadline = execution.frame.deadline.within(execution.compiled.timeout)
        began = time.perf_counter()
        result = attempt(execution)
        if not isinstance(result, (Failed, Errored)) or not _may_follow(execution, policy, result):
            return close(execution, result)
        try:
            _announce(execution, policy, result, began)
        except EventDataError:  # closing reports that the result cannot be written
            return close(execution, result)
        stopped = _pause(execution, policy) or _approved(execution)
        if stopped is not None:
            return stopped


def _may_follow(execution: StepExecution, policy: RetryPolicy, result: Failed | Errored) -> bool:
    """Return whether another attempt follows: one that could not begin in time does not."""
    if execution.attempt >= policy.max or not result.retryable or not policy.covers(result.kind):
        return False
    deadline = execution.frame.deadline
    left = deadline.remaining()
    in_time = left is None or left > policy.pause(execution.attempt)
    return in_time and not deadline.stopped and policy.applies(execution.contract)


def _announce(execution: StepExecution, policy: RetryPolicy, result: Failed | Errored, began: float) -> None:
    """Trace how the attempt ended and when the next one follows."""
    services, delay = execution.services, policy.pause(execution.attempt)
    failure = {"kind": result.kind, "message": result.message}
    # What was written may contain secret outputs that are not known yet.
    detail = {} if execution.contract.secret_outputs else result.detail
    data = mask_failure(completion_data({}, {}, failure, detail), services.masker)
    waited = services.waits.seconds(execution.key, since=began)
    previous: dict[str, Any] = {
        "status": str(StepStatus.FAILED if isinstance(result, Failed) else StepStatus.ERROR),
        **data["failure"],
        "duration": format_duration(services.backend.step_seconds(began) - waited),
    }
    if "detail" in data:
        previous["detail"] = data["detail"]
    hits = services.masker.hits(previous) if services.masker.count else 0
    if hits:
        applied = {"step_id": execution.compiled.id, "pattern_count": hits}
        execution.add(EventType.REDACTION_APPLIED, applied, fresh=True)
    number = execution.attempt + 1
    execution.add(
        EventType.STEP_ATTEMPT,
        {
            "step_id": execution.compiled.id,
            "attempt": number,
            "reason": "retry",
            "previous": previous,
            "delay": format_duration(delay),
        },
        fresh=True,
    )
    execution.attempt = number
    count_retries(execution, 1)
    services.journal.commit()
    services.progress.retrying(execution.info, attempt=number, most=policy.max, delay=delay, failure=data["failure"])


def _pause(execution: StepExecution, policy: RetryPolicy) -> Done | None:
    """Wait under the deadline of the block; return how the step is closed when the run was cancelled meanwhile."""
    execution.deadline = execution.frame.deadline
    try:
        execution.services.backend.sleep(execution, policy.pause(execution.attempt - 1))
    except StepProblem:
        return None  # the time is up: the attempt says so instead of beginning
    if not execution.deadline.cancelled:
        return None
    add_attempt(execution, "not_started")
    execution.signals.add([CANCELLED])
    return close(execution, None)


def _approved(execution: StepExecution) -> Done | None:
    """Return None when what was approved is what the next attempt would execute, or was approved anew."""
    decision = execution.decision
    if decision is None or not decision.needs_approval or not execution.services.backend.enforces:
        return None
    from gert_core.engine.steps.approval import approve_again

    done = approve_again(execution)
    if done is None and execution.claim is not None:
        execution.claim.use(execution)
    if done is not None and done.signal is not None and done.signal.rank >= Rank.SUSPENDED:
        add_attempt(execution, "not_started")
    return done


__all__ = ["run_attempts"]
