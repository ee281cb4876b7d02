"""Model and run of ``end``: the outcome is data and is checked by validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from gert_core.api import Ended, Outcome
from gert_core.kit.models import StepModel
from gert_core.kit.outcomes import Category  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from gert_core.api import StepContext


class OutcomeModel(StepModel):
    """A structured outcome: a fixed category, a code of your own, free details."""

    category: Category = Field(description="One of resolved, escalated, no_action, needs_rca.")
    code: str = Field(default="", description="What happened, in the words of the domain.")
    meta: dict[str, Any] = Field(default_factory=dict, description="Details, printed and traced.")


class EndStep(StepModel):
    """Ends the run."""

    outcome: OutcomeModel = Field(description="How the run ended.")


def outcome(step: EndStep) -> Outcome:
    """Return the outcome the run will end with."""
    return Outcome(category=step.outcome.category, code=step.outcome.code, meta=step.outcome.meta)


def run(step: EndStep, ctx: StepContext) -> Ended:
    """End the run."""
    return Ended(outcome=outcome(step))


__all__ = ["EndStep", "OutcomeModel", "outcome", "run"]
