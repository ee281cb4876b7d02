"""Check exports: only what the step has, and only to a name that no input, constant or other step's export has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.exclusive import exclusive
from gert_core.validation.domain.environment import EXPORT
from gert_core.validation.domain.positions import ancestors, may_precede
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.shapes import ANY, Shape, declared_shape, follow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tree import Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Environment
    from gert_core.validation.domain.facts import Facts


def check_exports(ctx: Context, env: Environment, step: StepNode, facts: Facts) -> None:
    """Report names a step cannot export; ``env`` is the state before the step's own outputs."""
    for name, source in step.fields.exports.items():
        if not _produced(ctx, step, facts, name, source):
            continue
        held = _holder(ctx, env, step, name)
        if held is None:
            continue
        ctx.add(
            "export-collision",
            f"`{name}` cannot be exported: {held}",
            path=export_place(step, name),
            hint=f"write `export: {_renamed(ctx, env, step, name)}`{_apart(step, facts, name)}",
        )


def check_promoted(ctx: Context, env: Environment, step: StepNode, facts: Facts) -> None:
    """Warn about outputs whose promotion replaces what another step exports, unless it comes back after a loop."""
    for name in facts.outputs:
        entry = env.names.get((EXPORT, name))
        if entry is None or name in step.fields.exports:
            continue
        loops = set(step.loops_around())
        other = next((o for o in entry.steps() if o is not step and loops <= set(o.loops_around())), None)
        if other is None or exclusive(other, step) or not may_precede(ctx.flow, [other], ancestors(step)):
            continue
        ctx.add(
            "export-shadowed",
            f"the output `{name}` of step `{step.id}` replaces the `{name}` that step `{other.id}` exports",
            path=(*step.path, "id") if step.named else step.path,
            hint=f"give it a scope, `scope: {step.id}`, and read its own as `.{step.id}.{name}`",
        )


def export_place(step: StepNode, name: str) -> Path:
    """Return where a step's export of a name stands."""
    export = step.fields.export
    return (*step.path, "export", name if isinstance(export, dict) else export.index(name))


def export_shape(step: StepNode, facts: Facts, source: str) -> Shape:
    """Return the shape of what is exported: of an output or a field, or inside it."""
    found = follow(_members(step, facts), source.split("."), 0) if facts.known else ANY
    return found if isinstance(found, Shape) else ANY


def _produced(ctx: Context, step: StepNode, facts: Facts, name: str, source: str) -> bool:
    """Report a source that the step does not have; a loop over blocks has whatever they promote."""
    if not facts.known or (step.blocks and step.fields.for_each is not None):
        return True
    root = source.partition(".")[0]
    # Fields are exported under a name of their own only: they are never promoted.
    known: Mapping[str, Shape] = _members(step, facts).fields or {}
    if isinstance(step.fields.export, list):
        known = facts.outputs
    if root in known and isinstance(follow(_members(step, facts), source.split("."), 0), Shape):
        return True
    missing = f"no output `{root}`" if root not in known else f"no `{source}`"
    ctx.add(
        "export-undeclared",
        f"step `{step.id}` has {missing} to export",
        path=export_place(step, name),
        hint=ctx.report.did_you_mean(root, known) or f"its outputs: {listing(known) if known else 'none'}",
    )
    return False


def _members(step: StepNode, facts: Facts) -> Shape:
    fields = {name: declared_shape(kind) for name, kind in step.type.fields.items()}
    return Shape("object", fields={**fields, **facts.outputs})


def _holder(ctx: Context, env: Environment, step: StepNode, name: str) -> str | None:
    """Return what has the name already, on a path that comes to the step or that the step's own comes to."""
    meta = ctx.runbook.model.meta
    if name in meta.inputs:
        return "an input has that name"
    if name in meta.constants:
        return "a constant has that name"
    held = env.names.get(name)
    if held is not None and held.origin is None and held.sure:
        return "a loop variable has that name"
    entry = env.names.get((EXPORT, name))
    if entry is None or step.fields.for_each is not None:
        return None  # a loop whose name is taken keeps its results under its id and warns
    for other in entry.steps():
        if other is step or other.fields.for_each is not None or exclusive(other, step):
            continue
        if may_precede(ctx.flow, [other], ancestors(step)) or may_precede(ctx.flow, [step], ancestors(other)):
            return f"step `{other.id}` exports that name too"
    return None


def _apart(step: StepNode, facts: Facts, name: str) -> str:
    """Return what else keeps an output apart from an exported name: without a scope it is promoted to it."""
    promoted = step.fields.scope is None and step.fields.for_each is None and name in facts.outputs
    return f" and `scope: {step.id}`" if promoted else ""


def _renamed(ctx: Context, env: Environment, step: StepNode, name: str) -> str:
    """Return the step's exports with a free name instead of this one."""
    meta, free = ctx.runbook.model.meta, f"{step.id}_{name}"
    taken = {*meta.inputs, *meta.constants, *ctx.reserved, *ctx.runbook.by_id, *env.names, *step.fields.exports}
    while free in taken or (EXPORT, free) in taken:
        free += "_"
    pairs = {free if known == name else known: source for known, source in step.fields.exports.items()}
    return "{" + ", ".join(f"{new}: {source}" for new, source in pairs.items()) + "}"


__all__ = ["check_exports", "check_promoted", "export_place", "export_shape"]
