"""Model and run of ``runbook``: include one document, run it, and hold its outcome against what is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from gert_core.api import Completed, ErrorKind, Failed, Include
from gert_core.kit.models import RAW, StepModel
from gert_core.kit.outcomes import CATEGORIES, Category

if TYPE_CHECKING:
    from gert_core.api import Result, StepContext


class RunbookStep(StepModel):
    """Runs another runbook as a step."""

    runbook: Annotated[str, Field(min_length=1), RAW] = Field(
        description="The file of the runbook, from the directory of this file; without templates."
    )
    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Its inputs; those not given have their defaults, and no source is asked."
    )
    accept: Annotated[list[Annotated[Category, RAW]], Field(min_length=1)] = Field(
        default_factory=lambda: list(CATEGORIES),
        description="The categories of outcomes with which the step succeeds; default all.",
    )


def includes(step: RunbookStep) -> list[Include]:
    """Return the runbook that the step names."""
    return [Include(path=step.runbook, at=("runbook",), inputs=step.inputs, accepts=tuple(step.accept))]


def detail(step: RunbookStep) -> str:
    """Return the outcomes that are accepted, where these are not all."""
    return f"accepts {' or '.join(step.accept)}" if set(step.accept) != set(CATEGORIES) else ""


def run(step: RunbookStep, ctx: StepContext) -> Result:
    """Run the other runbook; its outcome decides whether the step succeeds."""
    outcome = ctx.run_block(ctx.blocks[0], key=0).outcome
    if outcome is None:  # it did not come to its end, which decides about the step
        return Completed()
    accepted = outcome.category in step.accept
    fields = {"outcome": outcome.to_json()}
    ctx.emit("runbook_outcome", {"runbook": step.runbook, **fields, "accepted": accepted})
    if accepted:
        return Completed(fields=fields)
    code = f" ({outcome.code})" if outcome.code else ""
    return Failed(
        kind=ErrorKind.OUTCOME_NOT_ACCEPTED,
        message=f"{step.runbook} ended {outcome.category}{code}, and accepted is {' or '.join(step.accept)}",
        fields=fields,
    )


__all__ = ["RunbookStep", "detail", "includes", "run"]
