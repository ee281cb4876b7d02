"""Model and run of ``block``: steps, what runs after their failure, and what always runs last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field

from gert_core.api import CLEANUP_TIMEOUT, Block, BlockStatus, Completed, Finding, Severity
from gert_core.kit.durations import Duration  # noqa: TC001 - pydantic reads it
from gert_core.kit.models import SomeSteps, StepModel

if TYPE_CHECKING:
    from gert_core.api import StepContext

STEPS_BLOCK: Final = "steps"
ON_FAILURE: Final = "on_failure"
FINALLY: Final = "finally"
_FAILED: Final = (BlockStatus.FAILED, BlockStatus.ERROR)


class BlockStep(StepModel):
    """Several steps, with cleanup."""

    steps: SomeSteps = Field(description="The steps, in order.")
    on_failure: SomeSteps | None = Field(
        default=None, description="Steps to run when one of `steps` fails; if they succeed, the failure is handled."
    )
    finally_: SomeSteps | None = Field(
        default=None, alias=FINALLY, description="Steps to run last, whatever became of the others."
    )
    cleanup_timeout: Duration = Field(
        default=CLEANUP_TIMEOUT,
        description="How long `on_failure` and `finally` may take together; default 10m. `timeout` is that of `steps`.",
    )


def blocks(step: BlockStep) -> list[Block]:
    """Return the steps and the cleanup that is given."""
    found = [Block(name=STEPS_BLOCK, steps=step.steps)]
    for name, steps, least in ((ON_FAILURE, step.on_failure, 0), (FINALLY, step.finally_, 1)):
        if steps is not None:
            found.append(Block(name=name, steps=steps, runs=(least, 1), cleanup=True, timeout=step.cleanup_timeout))
    return found


def check(step: BlockStep) -> list[Finding]:
    """Report a time limit of cleanup where there is none."""
    if "cleanup_timeout" not in step.model_fields_set or step.on_failure is not None or step.finally_ is not None:
        return []
    return [
        Finding(
            rule="not-acted-on",
            message="`cleanup_timeout` has no effect: the block has neither `on_failure` nor `finally`",
            path=("cleanup_timeout",),
            hint="remove it; `timeout` limits the steps",
            severity=Severity.WARNING,
        )
    ]


def run(step: BlockStep, ctx: StepContext) -> Completed:
    """Run the steps, then the cleanup; a denial or an end is kept by the context and goes on after it."""
    named = {block.name: block for block in ctx.blocks}
    rescue, last = named.get(ON_FAILURE), named.get(FINALLY)
    tried = ctx.run_block(named[STEPS_BLOCK], key=0, catch=rescue is not None)
    rescued = None
    if rescue is not None and tried.status in (*_FAILED, BlockStatus.DENIED):
        rescued = ctx.run_block(rescue, key=1).status
    if last is not None:
        ctx.run_block(last, key=2)
    if tried.status in _FAILED and rescued in (*_FAILED, BlockStatus.DENIED):
        ctx.reraise(tried)
    return Completed(fields={"handled": tried.status in _FAILED and rescued is BlockStatus.SUCCESS})


__all__ = ["BlockStep", "blocks", "check", "run"]
