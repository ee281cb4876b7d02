"""Model and run of ``branch``: conditions are evaluated in order, one arm runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from gert_core.api import Block, Completed, ErrorKind, Failed, Finding, Result, Severity
from gert_core.kit.models import Expr, StepModel, Steps

if TYPE_CHECKING:
    from gert_core.api import StepContext

DEFAULT = "default"


class Arm(StepModel):
    """One path of a branch."""

    condition: Expr = Field(description="`{{ expression }}`, true, false or `default`.")
    label: str | None = Field(default=None, description="A name for people and the trace.")
    steps: Steps = Field(description="The steps of this arm.")
    next: str | None = Field(
        default=None, description="A later step of the branch's own list to continue at after this arm."
    )


def _arms(value: object) -> object:
    if isinstance(value, list) and not value:
        hint = "add an arm with `condition` and `steps`, or remove the step"
        raise PydanticCustomError("branch-empty", "a branch needs at least one arm", {"hint": hint})
    return value


Arms = Annotated[list[Arm], Field(min_length=1), BeforeValidator(_arms)]


class BranchStep(StepModel):
    """A choice between arms, of which exactly one runs."""

    branches: Arms = Field(description="The arms, in the order their conditions are evaluated.")


def blocks(step: BranchStep) -> list[Block]:
    """Return one block per arm."""
    return [
        Block(name=_label(arm, index), steps=arm.steps, condition=arm.condition, jump=arm.next)
        for index, arm in enumerate(step.branches)
    ]


def check(step: BranchStep) -> list[Finding]:
    """Warn about a branch that may match nothing and about arms after ``default``."""
    found = []
    defaults = [i for i, arm in enumerate(step.branches) if _always(arm)]
    if not defaults:
        found.append(
            Finding(
                rule="branch-not-exhaustive",
                severity=Severity.WARNING,
                message="no arm is `default`: the step fails when no condition is true",
                path=("branches",),
                hint="add an arm with `condition: default`",
            )
        )
    for index in range(defaults[0] + 1, len(step.branches)) if defaults else ():
        found.append(
            Finding(
                rule="unreachable-step",
                severity=Severity.WARNING,
                message=f"this arm is never taken: arm {defaults[0] + 1} always matches before it",
                path=("branches", index, "condition"),
                hint="move the arm that always matches to the end",
            )
        )
    return found


def run(step: BranchStep, ctx: StepContext) -> Result:
    """Run the first arm whose condition is true."""
    for index, block in enumerate(ctx.blocks):
        if block.condition == DEFAULT or ctx.test(block.condition):
            ctx.emit("branch_enter", {"branch_label": block.name, "condition": block.condition, "index": index})
            ctx.run_block(block, key=index)
            ctx.emit("branch_exit", {"branch_label": block.name, "index": index})
            return Completed()
    return Failed(
        kind=ErrorKind.NO_BRANCH_MATCHED, message="no condition is true and there is no arm with `condition: default`"
    )


def _label(arm: Arm, index: int) -> str:
    return arm.label or f"arm {index + 1}"


def _always(arm: Arm) -> bool:
    return arm.condition is True or arm.condition == DEFAULT


__all__ = ["Arm", "BranchStep", "blocks", "check", "run"]
