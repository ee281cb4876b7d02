"""Decide what becomes of a step that needs a secret output which only an earlier process of the run knew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, StepProblem
from gert_core.contracts import Contracts
from gert_core.engine.signals import Rank, Signal

if TYPE_CHECKING:
    from gert_core.engine.again import SecretNeeded
    from gert_core.engine.run import Run


def give_again(run: Run, need: SecretNeeded, *, late: bool = False) -> Signal:
    """Return the signal that the step with the output has to run again.

    Raise ``StepProblem`` when it must not: another step was given the value already, and a new one may be another; or,
    with ``late``, when the step that needs it has begun and cannot begin again.
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
        raise StepProblem(
            ErrorKind.SECRET_LOST,
            f"secret output {output!r} of step {key} is needed, which only an earlier process knew, and {why}; "
            "start a new run",
            acted=False,
        )
    return Signal(rank=Rank.SUSPENDED, again=(key,))


__all__ = ["give_again"]
