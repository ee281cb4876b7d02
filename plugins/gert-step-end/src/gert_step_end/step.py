"""Model and run of ``end``: the outcome is data and is checked by validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from gert_core.api import Ended, Outcome, OutcomeCategory
from gert_core.kit.models import StepModel

if TYPE_CHECKING:
    from gert_core.api import StepContext

_CATEGORIES = [str(category) for category in OutcomeCategory]


def _category(value: object) -> object:
    if value not in _CATEGORIES:
        raise PydanticCustomError(
            "outcome-category",
            "outcome category must be one of {categories}",
            {"categories": ", ".join(_CATEGORIES)},
        )
    return value


Category = Annotated[str, BeforeValidator(_category), WithJsonSchema({"enum": _CATEGORIES})]


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
