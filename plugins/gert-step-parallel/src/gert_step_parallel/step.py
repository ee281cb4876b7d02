"""Model and run of ``parallel``: fork, wait for every branch, report the status of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from gert_core.api import Block, Branch, Completed
from gert_core.kit.models import StepModel, Steps, Templated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import StepContext


class BranchModel(StepModel):
    """One block of a parallel step."""

    label: str | None = Field(default=None, description="A name for people and the trace.")
    steps: Steps = Field(description="The steps of this branch.")


class ParallelStep(StepModel):
    """Blocks that run at the same time; conflicting ones run one after another."""

    branches: list[BranchModel] = Field(min_length=1, description="The branches.")
    max_parallel: Templated[Annotated[int, Field(ge=1)]] = Field(
        default=16, description="How many branches run at the same time at most."
    )


def blocks(step: ParallelStep) -> list[Block]:
    """Return one block per branch."""
    return [
        Block(name=branch.label or f"branch {index + 1}", steps=branch.steps)
        for index, branch in enumerate(step.branches)
    ]


def detail(step: ParallelStep) -> str:
    """Return how many branches run at the same time, where the step says so."""
    return f"at most {step.max_parallel} at a time" if "max_parallel" in step.model_fields_set else ""


def run(step: ParallelStep, ctx: StepContext) -> Completed:
    """Fork all branches and wait for every one of them."""
    names = [block.name for block in ctx.blocks]

    def started(waits: Sequence[Sequence[int]]) -> None:
        serialized = [i for i, before in enumerate(waits) if before]
        data = {
            "branch_count": len(names),
            "branches": names,
            "forked_state_hash": ctx.state_hash(),
            "serialized": bool(serialized),
        }
        if serialized:
            data["serialized_branches"] = [
                {"branch": names[i], "after": [names[j] for j in waits[i]]} for i in serialized
            ]
        ctx.emit("parallel_fork", data)

    results = ctx.fork(
        [Branch(block=block, key=index) for index, block in enumerate(ctx.blocks)],
        limit=step.max_parallel,
        on_start=started,
    )
    ctx.emit(
        "parallel_merge",
        {
            "merged_outputs": sorted({name for result in results for name in result.outputs}),
            "branch_outcomes": [
                {"branch": name, "status": result.status, **({"kind": result.kind} if result.kind else {})}
                for name, result in zip(names, results, strict=True)
            ],
        },
    )
    return Completed()


__all__ = ["Branch", "ParallelStep", "blocks", "detail", "run"]
