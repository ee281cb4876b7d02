"""Check concurrent blocks: no name set twice, and a warning where shared resources serialise them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Flow
from gert_core.validation.domain.exports import export_place
from gert_core.validation.domain.report import phrase

if TYPE_CHECKING:
    from gert_core.documents.tree import BlockNode, Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import FactTable

    Names = dict[str, tuple[StepNode, Path]]


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
        if step.type.flow is Flow.ALL_OF and len(inner) > 1:
            _clashes(ctx, step, inner)
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


def _clashes(ctx: Context, step: StepNode, inner: list[Names]) -> None:
    first: dict[str, tuple[StepNode, str]] = {}
    for names, block in zip(inner, step.blocks, strict=True):
        for name, (setter, path) in names.items():
            if name in first:
                other, label = first[name]
                ctx.add(
                    "parallel-output-clash",
                    f"`{name}` is set by `{setter.id}` here and by `{other.id}` in `{label}` at the same time",
                    path=path,
                    hint=_apart(setter, name),
                )
        for name, (setter, _) in names.items():
            first.setdefault(name, (setter, block.name))


def _apart(step: StepNode, name: str) -> str:
    """Return what keeps the name of one step apart from that of the others."""
    scope = "" if step.fields.scope is not None else "give it a `scope`"
    export = f"remove `{name}` from its `export`" if name in step.fields.export else ""
    return f"`{step.id}`: {' and '.join(part for part in (scope, export) if part)}; read it as `.{step.id}.{name}`"


def _conflicts(ctx: Context, step: StepNode, facts: FactTable) -> None:
    """Warn once per block that must wait for an earlier one; linear in the number of tags."""
    written: dict[str, str] = {}
    touched: dict[str, str] = {}
    for block in step.blocks:
        try:
            contract = facts.contracts.block(block)
        except LookupError:
            continue  # a tool is missing, which is reported separately
        tags = {tag: touched[tag] for tag in contract.writes if tag in touched}
        tags |= {tag: written[tag] for tag in contract.reads if tag in written and tag not in tags}
        if tags:
            before = list(dict.fromkeys(tags.values()))
            ctx.add(
                "parallel-conflict",
                f"`{block.name}` and {phrase(before)} both touch {phrase(sorted(tags))} and one writes it, "
                "so they run one after another",
                path=block.path[:-1],
                hint="no change needed if that is intended; else split the resource tags, or let only one block write",
            )
        for tag in contract.writes:
            written.setdefault(tag, block.name)
        for tag in (*contract.writes, *contract.reads):
            touched.setdefault(tag, block.name)


__all__ = ["check_concurrent"]
