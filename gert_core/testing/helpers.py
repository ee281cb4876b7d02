"""Step types for tests of other step types: ``kit_pause`` waits, ``kit_fork`` runs lists at the same time."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Block, Branch, Completed, Flow, StepContext, StepType
from gert_core.kit.models import StepModel, Steps, Templated


class PauseStep(StepModel):
    """Waits."""

    seconds: Templated[Annotated[float, Field(ge=0)]] = Field(description="How long.")


class ForkStep(StepModel):
    """Runs several lists at the same time."""

    branches: list[Steps] = Field(min_length=1, description="The lists of steps.")


def pause(step: PauseStep, ctx: StepContext) -> Completed:
    """Wait, cancellable."""
    ctx.sleep(float(step.seconds))
    return Completed()


def branches(step: ForkStep) -> list[Block]:
    """Return one block per list."""
    return [Block(name=f"branch {number}", steps=steps) for number, steps in enumerate(step.branches)]


def fork(step: ForkStep, ctx: StepContext) -> Completed:
    """Run all lists and wait for every one of them."""
    ctx.fork([Branch(block=block, key=number) for number, block in enumerate(ctx.blocks)])
    return Completed()


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``kit_pause`` and ``kit_fork``."""
    return [
        StepType(name="kit_pause", model=PauseStep, run=pause, contract=PURE, summary="Waits, in tests."),
        StepType(
            name="kit_fork",
            model=ForkStep,
            run=fork,
            contract=PURE,
            flow=Flow.ALL_OF,
            blocks=branches,
            summary="Runs lists at the same time, in tests.",
        ),
    ]


__all__ = ["gert_step_types"]
