"""Decide what becomes of a step that needs a secret output which only an earlier process of the run knew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, EventType, RunError, StepProblem
from gert_core.contracts import Contracts
from gert_core.engine.signals import Rank, Signal

if TYPE_CHECKING:
    from gert_core.engine.again import SecretNeeded
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution


def give_again(run: Run, need: SecretNeeded, *, by: str, late: bool = False) -> Signal:
    """Return the signal that the step with the output has to run again, as the step ``by`` needs it.

    Raise ``StepProblem`` when it must not: another step was given the value already, and a new one may be another; or,
    with ``late``, when the step that needs it has begun and cannot begin again. Raise ``RunError`` if that step has a
    result in the trace, as one with blocks may have: an error would contradict it.
    """
    key, _, output = need.name.rpartition(".")
    recorded, found = run.services.recorded, run.top.facts.runbook.find(key)
    assert recorded is not None  # noqa: S101 - only recorded results lack values
    assert found is not None  # noqa: S101 - the name is that of a recorded step
    receiver = recorded.lost.receiver(need.name)
    stays = key in recorded.lost.asked  # an aborted run executes no step but those of its cleanup
    if late or stays or (receiver is not None and not Contracts(found[0]).of(found[1]).deterministic):
        why = "this step has begun to read it" if receiver is None else f"step {receiver} was given it already"
        why = "the step did not run again" if stays else why
        told = f"secret output {output!r} of step {key} is needed, which only an earlier process knew, and {why}"
        if recorded.event(by, EventType.STEP_COMPLETE, 0) is not None:
            raise RunError(f"step {by}: {told}", kind=ErrorKind.SECRET_LOST, hint="start a new run")
        raise StepProblem(ErrorKind.SECRET_LOST, f"{told}; start a new run", acted=False)
    return Signal(rank=Rank.SUSPENDED, again=(key,))


def was_wanted(execution: StepExecution, need: SecretNeeded) -> bool:
    """Return what an earlier process found of ``when``, where the step has a result; else raise the need."""
    recorded = execution.services.recorded
    before = recorded.event(execution.key, EventType.STEP_COMPLETE, 0) if recorded is not None else None
    if before is None:
        raise need
    return before.get("reason") != "when"


def was_last(item: StepExecution, need: SecretNeeded) -> bool:
    """Return what an earlier process found of the ``until`` of a loop that has a result; else raise the need."""
    recorded = item.services.recorded
    before = recorded.event(loop_of(item.key), EventType.STEP_COMPLETE, 0) if recorded is not None else None
    if before is None or item.item is None:
        raise need
    return before.get("items") == item.item + 1


def loop_of(key: str) -> str:
    """Return the key of the loop that the key of an item belongs to."""
    return key.rpartition("[")[0]


__all__ = ["give_again", "loop_of", "was_last", "was_wanted"]
