"""Check exports: only what the step has, and only to a name that no input, constant or other step's export has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.exclusive import exclusive
from gert_core.validation.domain.environment import EXPORT
from gert_core.validation.domain.facts import OF_ITEMS
from gert_core.validation.domain.positions import ancestors, may_precede
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.shapes import ANY, Shape, follow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.documents.tree import Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Environment
    from gert_core.validation.domain.facts import Facts


def check_exports(ctx: Context, env: Environment, step: StepNode, facts: Facts, result: Shape) -> None:
    """Report names a step cannot export; ``env`` is the state before its own outputs, ``result`` that of an item."""
    members = result if step.fields.for_each is not None else exported(facts)
    for name, source in step.fields.exports.items():
        if not _produced(ctx, step, members, name, source):
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


def inside(members: Shape, source: str) -> Shape:
    """Return the shape of what is exported: of an output or a field, or inside it."""
    found = follow(members, source.split("."), 0)
    return found if isinstance(found, Shape) else ANY


def exported(facts: Facts) -> Shape:
    """Return what a step has to export: outputs, and beside them fields, under a name of their own only."""
    if not facts.known:
        return ANY
    return Shape("object", fields=facts.outputs, beside=facts.fields)


def _produced(ctx: Context, step: StepNode, members: Shape, name: str, source: str) -> bool:
    """Report a source that the step, or an item of its loop, does not have."""
    if members.fields is None:
        return True
    root = source.partition(".")[0]
    known: Mapping[str, Shape] = members.fields
    if not isinstance(step.fields.export, list):
        beside = {name: shape for name, shape in members.beside.items() if name not in OF_ITEMS}
        known = {**beside, **members.fields}
    segments, depth = source.split("."), 0
    found = follow(members, segments, 0) if root in known else None
    if isinstance(found, Shape):
        return True
    missing, hint = f"no output `{root}`", f"its outputs: {listing(known) if known else 'none'}"
    if found is None and (spelled := _spelled(step, members, name, source)):
        hint = spelled
    if isinstance(step.fields.export, list) and root in members.beside and root not in OF_ITEMS:
        hint = f"it is a field of the step: give it a name of its own, `export: {{{step.id}_{root}: {root}}}`"
    if found is not None:
        known, depth = found.shape.fields or found.shape.beside, found.depth
        missing = f"no `{source}`"
        hint = f"`{'.'.join(segments[:depth])}` has {listing(known) if known else 'no members'}"
    near = ctx.report.nearest(segments[depth], known)
    ctx.add(
        "export-undeclared",
        f"step `{step.id}` has {missing} to export",
        path=export_place(step, name),
        hint=f"did you mean `{'.'.join([*segments[:depth], near, *segments[depth + 1 :]])}`?" if near else hint,
    )
    return False


def _spelled(step: StepNode, members: Shape, name: str, source: str) -> str | None:
    """Return the exports with what was probably meant: turned round, or a member of one of the step's fields."""
    exports, fields = step.fields.exports, members.beside.keys() - OF_ITEMS.keys()
    if name != source and name in (members.fields or {}) and source not in exports:
        return f"the new name comes first: write `export: {_written(exports, name, {source: name})}`"
    for field in sorted(fields) if source not in OF_ITEMS else ():
        for path in _paths_to(source, members.beside[field], field):
            return f"write `export: {_written(exports, name, {name: path})}`"
    if members.fields or not fields:
        return None
    field = step.type.included_outcome if step.type.included_outcome in fields else min(fields)
    right = _written(exports, name, {f"{step.id}_{field}": field})
    return f"it has no outputs; a field of it is exported under a name of its own, such as `export: {right}`"


def _paths_to(name: str, shape: Shape, path: str) -> Iterator[str]:
    """Yield where a member of this name is, in a shape or in the maps directly inside it."""
    for key, inner in (shape.fields or {}).items():
        if key == name:
            yield f"{path}.{key}"
        elif name in (inner.fields or {}):
            yield f"{path}.{key}.{name}"


def _written(exports: Mapping[str, str], name: str, instead: Mapping[str, str]) -> str:
    """Return exports as a map with others in place of one."""
    pairs = [
        pair for known, source in exports.items() for pair in (instead if known == name else {known: source}).items()
    ]
    return "{" + ", ".join(f"{new}: {source}" for new, source in pairs) + "}"


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
    return _written(step.fields.exports, name, {free: step.fields.exports[name]})


__all__ = ["check_exports", "check_promoted", "export_place", "exported", "inside"]
