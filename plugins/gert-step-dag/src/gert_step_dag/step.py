"""Model and run of ``dag``: fork the nodes, each after those that it depends on, and tell how they came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from gert_core.api import Block, BlockStatus, Branch, Completed, Finding
from gert_core.kit.models import StepModel, Steps, Templated
from gert_core.kit.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import StepContext

_NAMED: Final = 8
"""How many nodes that were not started the summary names."""


class NodeModel(StepModel):
    """One node: a block with a name, and the nodes that it comes after."""

    name: Annotated[str, Field(min_length=1)] = Field(description="A name, unique among the nodes.")
    depends_on: list[str] = Field(default_factory=list, description="The nodes that must have succeeded before.")
    steps: Steps = Field(description="The steps of this node.")


class DagStep(StepModel):
    """Nodes that run at the same time where they do not depend on each other."""

    nodes: list[NodeModel] = Field(min_length=1, description="The nodes.")
    max_parallel: Templated[Annotated[int, Field(ge=1)]] = Field(
        default=16, description="How many nodes run at the same time at most."
    )


def blocks(step: DagStep) -> list[Block]:
    """Return one block per node."""
    return [Block(name=node.name, steps=node.steps, after=tuple(node.depends_on)) for node in step.nodes]


def check(step: DagStep) -> list[Finding]:
    """Return equal names, unknown nodes in ``depends_on``, and where nodes depend on each other in a circle."""
    names = [node.name for node in step.nodes]
    found = []
    for index, node in enumerate(step.nodes):
        if node.name in names[:index]:
            found.append(
                Finding(
                    rule="name-collision",
                    message=f"two nodes are called `{node.name}`",
                    path=("nodes", index, "name"),
                    hint="give one of them another name",
                )
            )
        for place, wanted in enumerate(node.depends_on):
            if wanted not in names:
                others = [name for name in dict.fromkeys(names) if name != node.name]
                near, known = nearest(wanted, others), ", ".join(others)
                hint = f"the nodes are {known}" if others else "remove it: there is no other node"
                found.append(
                    Finding(
                        rule="dag-unknown-node",
                        message=f"`{node.name}` depends on the node `{wanted}`, which does not exist",
                        path=("nodes", index, "depends_on", place),
                        hint=f"did you mean `{near}`?" if near else hint,
                    )
                )
    before: dict[str, list[str]] = {}
    for node in step.nodes:
        before.setdefault(node.name, [name for name in node.depends_on if name in names])
    while (circle := _circle(before)) is not None:
        before[circle[0]] = [name for name in before[circle[0]] if name != circle[1]]
        last = names.index(circle[0])
        found.append(
            Finding(
                rule="dag-cycle",
                message=f"nodes depend on each other in a circle: {' -> '.join(circle)}",
                path=("nodes", last, "depends_on", step.nodes[last].depends_on.index(circle[1])),
                hint=f"remove `{circle[1]}` from `depends_on` of `{circle[0]}`",
            )
        )
    return found


def _circle(before: dict[str, list[str]]) -> list[str] | None:
    """Return names of which each depends on the next, the last being the first again; None when there is no circle."""
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def detail(step: DagStep) -> str:
    """Return how many nodes run at the same time, where the step says so."""
    return f"at most {step.max_parallel} at a time" if "max_parallel" in step.model_fields_set else ""


def run(step: DagStep, ctx: StepContext) -> Completed:
    """Fork all nodes and wait for every one that is started."""
    names = [block.name for block in ctx.blocks]

    def started(waits: Sequence[Sequence[int]]) -> None:
        held = [
            {"node": names[i], "after": extra}
            for i, before in enumerate(waits)
            if (extra := [names[j] for j in before if names[j] not in step.nodes[i].depends_on])
        ]
        data = {
            "nodes": [{"name": node.name, "depends_on": node.depends_on} for node in step.nodes],
            "max_parallel": step.max_parallel,
            "forked_state_hash": ctx.state_hash(),
            "serialized": held,
        }
        ctx.emit("dag_start", data)

    results = ctx.fork(
        [Branch(block=block, key=index) for index, block in enumerate(ctx.blocks)],
        limit=step.max_parallel,
        on_start=started,
    )
    statuses = dict(zip(names, (result.status for result in results), strict=True))
    completed = [name for name, status in statuses.items() if status in (BlockStatus.SUCCESS, BlockStatus.ENDED)]
    cancelled = [name for name, status in statuses.items() if status is BlockStatus.SKIPPED]
    failed = [name for name in names if name not in completed and name not in cancelled]
    summary = f"{len(completed)} of {len(names)} nodes completed"
    if failed:
        summary += f", {len(failed)} failed"
    if cancelled:
        more = f" and {len(cancelled) - _NAMED} more" if len(cancelled) > _NAMED else ""
        summary += f", {len(cancelled)} not started: {', '.join(cancelled[:_NAMED])}{more}"
    fields = {"completed": completed, "failed": failed, "cancelled": cancelled, "summary": summary}
    ctx.emit("dag_complete", fields)
    if not cancelled:
        return Completed(fields=fields)
    ctx.show(summary)
    return Completed(fields=fields, detail={"not started": ", ".join(cancelled)})


__all__ = ["DagStep", "blocks", "check", "detail", "run"]
