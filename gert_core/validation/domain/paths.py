"""Check the flow: every path ends, every step is reachable, every jump stays in its list and is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Flow, Severity
from gert_core.validation.domain.cleanup import check_no_end
from gert_core.validation.domain.flow import guarded, jump_of, jumping_blocks

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.flow import FlowMap

_END_HINT = "finish every path with a step that ends the run, for instance as the last step of this list"


def check_paths(ctx: Context) -> None:
    """Report jumps, unreachable steps and paths without an outcome."""
    for block in ctx.runbook.lists:
        _enter(ctx, block)
    if ctx.broken:
        return
    root = ctx.runbook.root
    if ctx.sure_flow.of(root).falls:
        _ends(ctx, ctx.sure_flow, root, severity=Severity.ERROR)
    else:
        _ends(ctx, ctx.flow, root, severity=Severity.WARNING)


def _enter(ctx: Context, block: BlockNode) -> None:
    if block.cleanup and not block.handles:
        check_no_end(ctx, block)
    _lists(ctx, block)


def _lists(ctx: Context, block: BlockNode) -> None:
    flow = ctx.flow.of(block)
    if flow.jumps:
        _jumps(ctx, block)
    _item_jumps(ctx, block)
    reached = flow.reached
    if len(reached) < len(block.steps) and not ctx.broken:
        _unreachable(ctx, block, reached)
    for step in block.steps:
        for inner in step.blocks:
            _enter(ctx, inner)


def _unreachable(ctx: Context, block: BlockNode, reached: set[int]) -> None:
    """Report unreachable steps, one finding per group of neighbours."""
    for index, step in enumerate(block.steps):
        if index in reached or (index and index - 1 not in reached):
            continue
        count = 1
        while index + count < len(block.steps) and index + count not in reached:
            count += 1
        before = block.steps[index - 1]
        why = "always ends the run" if not ctx.flow.of(block).follow[index - 1] else "always jumps over it"
        also = f" and the {count - 1} after it" if count > 1 else ""
        ctx.add(
            "unreachable-step",
            f"step `{step.id}`{also} cannot be reached: `{before.id}` before it {why}",
            path=step.path,
            hint="remove it, or put a guard (`when`) on what comes before it",
        )


def _jumps(ctx: Context, block: BlockNode) -> None:
    places = {step.id: index for index, step in enumerate(block.steps)}
    for index, step in enumerate(block.steps):
        named, most = jump_of(step)
        if named is not None:
            nested = isinstance(step.raw.get("next"), dict)
            path = (*step.path, "next", "step") if nested else (*step.path, "next")
            _target(ctx, named, index, path=path, places=places, bounded=most is not None, arm=False)
        for number in jumping_blocks(step):
            inner = step.blocks[number]
            goal = str(inner.block.jump)  # type: ignore[union-attr] # only blocks with a jump are named
            path = (*inner.path[:-1], "next")
            _target(ctx, goal, index, path=path, places=places, bounded=False, arm=True)


def _item_jumps(ctx: Context, block: BlockNode) -> None:
    """Report jumps of arms inside a for_each: they would leave an item while others still run."""
    for step in block.steps:
        if step.fields.for_each is None:
            continue
        for inner in step.blocks:
            if inner.block is not None and inner.block.jump:
                ctx.add(
                    "next-cross-scope",
                    f"`next` cannot jump to `{inner.block.jump}` from an item of the for_each of `{step.id}`",
                    path=(*inner.path[:-1], "next"),
                    hint=f"put `next` on `{step.id}` itself: it is taken after the last item",
                )


def _target(
    ctx: Context,
    goal: str,
    index: int,
    *,
    path: tuple[str | int, ...],
    places: dict[str, int],
    bounded: bool,
    arm: bool,
) -> None:
    place = places.get(goal)
    if place is None:
        if goal in ctx.runbook.by_id:
            ctx.add(
                "next-cross-scope",
                f"`next` cannot jump to `{goal}`: it is in another list of steps",
                path=path,
                hint="jump within the same list; move shared steps after the step that contains both lists",
            )
        elif not ctx.broken:
            ctx.add(
                "next-unknown",
                f"`next` names the step `{goal}`, which does not exist",
                path=path,
                hint=ctx.report.did_you_mean(goal, places) or ctx.report.did_you_mean(goal, ctx.runbook.by_id),
            )
    elif place <= index and not bounded:
        if arm:
            ctx.add(
                "next-backward-unbounded",
                f"an arm's `next` must name a later step, and `{goal}` is not later",
                path=path,
                hint="put a bounded `next` on a step, or use a loop",
            )
            return
        what = "to itself" if place == index else f"backwards to `{goal}`"
        ctx.add(
            "next-backward-unbounded",
            f"`next` jumps {what} without a bound",
            path=path,
            hint=f"write `next: {{step: {goal}, max: 3}}`",
        )


def _ends(ctx: Context, flow: FlowMap, block: BlockNode, *, severity: Severity, trail: tuple[str, ...] = ()) -> None:
    """Report where the end of a list that must not be left can be reached."""
    if not flow.of(block).falls:
        return
    if block.steps:
        # Jumps lead to steps, so the end of a list is reached from its last step only.
        _falls(ctx, flow, block.steps[-1], severity=severity, trail=trail)
        return
    ctx.add(
        "end-unreachable",
        f"the path{_via(trail)} has no steps and no outcome",
        path=block.path,
        key=True,
        hint=_END_HINT,
        severity=severity,
    )


def _falls(ctx: Context, flow: FlowMap, step: StepNode, *, severity: Severity, trail: tuple[str, ...]) -> None:
    """Report the exit of a list over its last step; deeper when only some of the step's blocks fall through."""
    loose = [block for block in step.blocks if flow.of(block).falls]
    if (
        step.type.flow is Flow.ONE_OF
        and loose
        and len(loose) < len(step.blocks)
        and not step.fields.continue_on_fail
        and step.fields.for_each is None
        and not guarded(step)
    ):
        for block in loose:
            if block.block is not None and not block.block.jump:
                _ends(ctx, flow, block, severity=severity, trail=(*trail, f"`{block.name}` of `{step.id}`"))
        return
    ctx.add(
        "end-unreachable",
        f"a path{_via(trail)} reaches the end of the steps without an outcome: {_why(flow, step)}",
        path=step.path,
        hint=_END_HINT,
        severity=severity,
    )


def _why(flow: FlowMap, step: StepNode) -> str:
    """Return why the run may continue after the last step of a list."""
    if step.fields.for_each is not None and step.type.flow is not Flow.LEAF:
        return f"`{step.id}` may iterate over an empty list"
    if guarded(step) and not flow.continues(step):
        return f"`{step.id}` is skipped when its `when` is false"
    if step.blocks and step.fields.continue_on_fail:
        return f"`{step.id}` may fail and `continue_on_fail` continues after it"
    ends = next((block for block in step.blocks if not flow.of(block).falls), None)
    if ends is not None and ends.repeats and ends.block is not None and ends.block.runs[0] < 1:
        return f"`{step.id}` may run no round of `{ends.name}`"
    if ends is not None and step.type.flow is Flow.IN_ORDER:
        return f"`{ends.name}` of `{step.id}` may fail, and a later block of it may handle that"
    return f"no step comes after `{step.id}`"


def _via(trail: tuple[str, ...]) -> str:
    return f" through {', then '.join(trail)}" if trail else ""


__all__ = ["check_paths"]
