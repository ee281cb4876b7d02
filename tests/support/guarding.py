"""A step type whose blocks may fail without the step failing: steps, a rescue, and what always comes last."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Block, Branch, Completed, Failed, Flow, Result, StepContext, StepType
from gert_core.kit.models import StepModel, Steps


class Guard(StepModel):
    """Steps whose failure is caught."""

    steps: Steps = Field(description="What is tried.")
    rescue: Steps = Field(default=[], description="What runs after a failure.")
    last: Steps = Field(default=[], description="What runs in any case.")
    then: str = Field(default="own", description="After a failure: `own` failure, `raise` it again, or `go_on`.")


class Sides(StepModel):
    """Lists that run at the same time; failures are caught and raised again."""

    sides: list[Steps] = Field(description="The lists.")


def _blocks(step: Guard) -> list[Block]:
    return [
        Block(name="steps", steps=step.steps),
        Block(name="rescue", steps=step.rescue, runs=(0, 1)),
        Block(name="last", steps=step.last),
    ]


def _run(step: Guard, ctx: StepContext) -> Result:
    tried, rescue, last = ctx.blocks
    result = ctx.run_block(tried, key=0, catch=True)
    failed = result.status != "success"
    if failed and step.rescue:
        ctx.run_block(rescue, key=1)
    ctx.run_block(last, key=2)
    if step.then == "always_raise" or (failed and step.then == "raise"):
        ctx.reraise(result)
    if failed and step.then == "own":
        return Failed(kind="guarded", message=f"the steps failed: {result.message}")
    return Completed(fields={"caught": failed})


def _side_blocks(step: Sides) -> list[Block]:
    return [Block(name=f"side {n}", steps=steps) for n, steps in enumerate(step.sides)]


def _fork(step: Sides, ctx: StepContext) -> Result:
    branches = [Branch(block=block, key=n) for n, block in enumerate(ctx.blocks)]
    failed = [result for result in ctx.fork(branches, limit=1, catch=True) if result.status != "success"]
    if failed:
        ctx.reraise(*failed)
    return Completed()


class Guarding:
    """The plugin with the types ``guard`` and ``sides``."""

    @hookimpl
    def gert_step_types(self) -> Any:
        """Register them."""
        yield StepType(
            name="guard",
            model=Guard,
            run=_run,
            blocks=_blocks,
            contract=PURE,
            flow=Flow.IN_ORDER,
            fields={"caught": "bool"},
        )
        yield StepType(name="sides", model=Sides, run=_fork, blocks=_side_blocks, contract=PURE, flow=Flow.ALL_OF)


__all__ = ["Guard", "Guarding"]
