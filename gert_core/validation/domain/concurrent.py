"""Check concurrent blocks: no name set twice, and a warning where shared resources serialise them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Flow
from gert_core.documents.ordering import OrderError, order_blocks
from gert_core.validation.domain.exports import export_place
from gert_core.validation.domain.report import phrase

if TYPE_CHECKING:
    from gert_core.documents.ordering import BlockOrder
    from gert_core.documents.tree import BlockNode, Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import FactTable

    Names = dict[str, tuple[StepNode, Path]]


def known_order(step: StepNode) -> BlockOrder | None:
    """Return the order among a step's blocks; None without one, or when the blocks cannot be ordered."""
    try:
        return order_blocks([block.block for block in step.blocks])
    except OrderError:  # which the step's type reports
        return None


def is_disordered(step: StepNode) -> bool:
    """Return whether a step's blocks cannot be ordered, so that nothing is known of what comes before what."""
    if step.type.flow is not Flow.ALL_OF:
        return False
    try:
        order_blocks([block.block for block in step.blocks])
    except OrderError:
        return True
    return False


def within_disorder(step: StepNode | None) -> bool:
    """Return whether a step is inside blocks that cannot be ordered."""
    owner = step.within.owner if step is not None and step.within is not None else None
    return owner is not None and (is_disordered(owner) or within_disorder(owner))


def check_concurrent(ctx: Context, facts: FactTable) -> None:
    """Report clashes of names and conflicts of resources in every step whose blocks run concurrently."""
    if any(step.type.flow is Flow.ALL_OF for step in ctx.steps):
        for block in ctx.runbook.lists:
            _names(ctx, block, facts)


def _names(ctx: Context, block: BlockNode, facts: FactTable) -> Names:
    """Return the global names a block sets, each with the step and place that sets it."""
    found: Names = {}
    for step in block.steps:
        inner = [_names(ctx, child, facts) for child in step.blocks]
        if step.type.flow is Flow.ALL_OF and len(inner) > 1 and not is_disordered(step):
            _clashes(ctx, step, inner, facts)
            _conflicts(ctx, step, facts)
        for names, child in zip(inner, step.blocks, strict=True):
            lasting = child.repeats or step.fields.for_each is not None
            for name, place in names.items():
                if not lasting or name in place[0].fields.export:
                    found[name] = place
        fields = step.fields
        if fields.scope is None and fields.for_each is None:
            at: Path = (*step.path, "id") if step.named else step.path
            for name in facts.of(step).outputs:
                found[name] = (step, at)
        for name in fields.exports:
            found[name] = (step, export_place(step, name))
    return found


def _clashes(ctx: Context, step: StepNode, inner: list[Names], facts: FactTable) -> None:
    order = known_order(step)
    earlier: dict[str, list[tuple[int, StepNode]]] = {}
    for number, names in enumerate(inner):
        for name, (setter, path) in names.items():
            others = earlier.setdefault(name, [])
            clash = next((one for one in others if order is None or not order.are_ordered(number, one[0])), None)
            if clash is not None:
                place, other = clash
                label = step.blocks[place].name
                ctx.add(
                    "parallel-output-clash",
                    f"`{name}` is set by `{setter.id}` here and by `{other.id}` in `{label}` at the same time",
                    path=path,
                    hint=_apart(setter, name, promoted=name in facts.of(setter).outputs),
                )
            if order is not None or not others:  # without an order the first one is enough
                others.append((number, setter))


def _apart(step: StepNode, name: str, *, promoted: bool) -> str:
    """Return what keeps the name of one step apart from that of the others."""
    exports = step.fields.exports
    scope = "give it a `scope`" if promoted and step.fields.scope is None else ""
    export = f"remove `{name}` from its `export`" if name in exports else ""
    read = f".{step.id}.{exports.get(name, name)}"
    return f"`{step.id}`: {' and '.join(part for part in (scope, export) if part)}; read it as `{read}`"


def _conflicts(ctx: Context, step: StepNode, facts: FactTable) -> None:
    """Warn once per block that must wait for an earlier one; without an order linear in the number of tags."""
    order = known_order(step)
    written: dict[str, list[int]] = {}
    touched: dict[str, list[int]] = {}

    def at_once(number: int, others: list[int]) -> int | None:
        """Return the first of the blocks that may run at the same time as this one."""
        return next((one for one in others if order is None or not order.are_ordered(number, one)), None)

    for number, block in enumerate(step.blocks):
        try:
            contract = facts.contracts.block(block)
        except LookupError:
            continue  # a tool is missing, which is reported separately
        tags: dict[str, int] = {}
        for names, by in ((contract.writes, touched), (contract.reads, written)):
            for tag in names:
                found = at_once(number, by.get(tag, []))
                if found is not None:
                    tags.setdefault(tag, found)
        if tags:
            before = [step.blocks[one].name for one in dict.fromkeys(tags.values())]
            ctx.add(
                "parallel-conflict",
                f"`{block.name}` and {phrase(before)} both touch {phrase(sorted(tags))} and one writes it, "
                "so they run one after another",
                path=block.path[:-1],
                hint="no change needed if that is intended; else split the resource tags, or let only one block write",
            )
        for names, by in ((contract.writes, written), ((*contract.writes, *contract.reads), touched)):
            for tag in names:
                others = by.setdefault(tag, [])
                if order is not None or not others:
                    others.append(number)


__all__ = ["check_concurrent", "is_disordered", "known_order", "within_disorder"]
