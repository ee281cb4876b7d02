"""A terminal step type for tests of other step types: ``type: finish`` ends the run as resolved."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Ended, Flow, Outcome, StepContext, StepType
from gert_core.kit.models import StepModel


class FinishStep(StepModel):
    """Ends the run."""


def outcome(step: FinishStep) -> Outcome:
    """Return the one outcome of this type."""
    return Outcome(category="resolved", code="finished")


def run(step: FinishStep, ctx: StepContext) -> Ended:
    """End the run."""
    return Ended(outcome=outcome(step))


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``finish``."""
    return [
        StepType(
            name="finish",
            model=FinishStep,
            run=run,
            outcome=outcome,
            contract=PURE,
            flow=Flow.TERMINAL,
            summary="Ends a run in tests.",
        )
    ]


__all__ = ["gert_step_types"]
