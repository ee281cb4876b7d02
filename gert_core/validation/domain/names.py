"""Check names: no collisions, no reserved names, no shadowed constants or inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Severity
from gert_core.validation.domain.exports import export_place

if TYPE_CHECKING:
    from gert_core.documents.tree import Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import Facts, FactTable

OWN_NAMES: Final = frozenset({"status", "attempts", "retry_count", "exit_code"})
"""What a step has at ``.id`` itself, unless one of its outputs has that name."""


def check_names(ctx: Context, facts: FactTable) -> None:
    """Report collisions, reserved names and shadowed constants."""
    meta = ctx.runbook.model.meta
    for kind, names in (("inputs", meta.inputs), ("constants", meta.constants)):
        for name in names:
            _reserved(ctx, name, ("meta", kind, name), key=True)
    for name in meta.constants:
        if name in meta.inputs:
            ctx.add(
                "name-collision",
                f"`{name}` is an input and a constant",
                path=("meta", "constants", name),
                key=True,
                hint="rename one of them",
            )
    promoted: dict[str, StepNode] = {}
    for step in ctx.steps:
        _step_names(ctx, step, facts, promoted)
    taken = {*meta.inputs, *meta.constants, *promoted}
    for step in ctx.steps:
        if step.named and (step.id in taken or step.id in ctx.reserved):
            _step_id(ctx, step, promoted)


def check_input_shadowed(ctx: Context, step: StepNode, name: str, *, read: Path) -> None:
    """Warn about a step whose output is what a template reads under the name of an input."""
    own = step.id if step.named else step.id.removeprefix("_")
    scope = f"`scope: {own}`" if step.named else f"`id: {own}` and `scope: {own}`"
    ctx.add(
        "input-shadowed",
        f"the output `{name}` of step `{step.id}` hides the input `{name}`:"
        f" `.{name}` in line {ctx.runbook.document.locate(read)[0]} is the output",
        path=_place(step),
        hint=f"with {scope} `.{name}` stays the input and the output is `.{own}.{name}`; or rename the input",
    )


def _step_names(ctx: Context, step: StepNode, facts: FactTable, promoted: dict[str, StepNode]) -> None:
    fields, constants = step.fields, ctx.runbook.model.meta.constants
    loop = fields.for_each
    if loop is not None:
        path = (*step.path, "for_each", "as")
        _reserved(ctx, loop.as_, path)
        if loop.as_ in constants:
            _shadowed(ctx, step, loop.as_, path=path, what="the loop variable")
        elif loop.as_ in ctx.runbook.by_id:
            ctx.add(
                "name-collision",
                f"the loop variable `{loop.as_}` has the name of a step",
                path=path,
                hint="rename one of them",
            )
    for name in fields.exports if fields.export else ():
        _reserved(ctx, name, export_place(step, name), key=True)
        promoted.setdefault(name, step)
    known = facts.of(step)
    if known.outputs and (known.use is None or known not in facts.warned):
        _own_names(ctx, step, known)
        facts.warned.add(known)
    if fields.scope is not None or loop is not None:
        return
    for name in known.outputs:
        promoted.setdefault(name, step)
        if name in constants:
            _shadowed(ctx, step, name, path=_place(step), what=f"the output `{name}` of step `{step.id}`")
        elif name in ctx.reserved:
            _reserved(ctx, name, _place(step))


def _own_names(ctx: Context, step: StepNode, known: Facts) -> None:
    """Warn about outputs that hide what every step has; steps that call the same action are reported once."""
    for name in [name for name in known.outputs if name in OWN_NAMES]:
        ctx.add(
            "reserved-name",
            f"the output `{name}` of step `{step.id}` hides the step's own `{name}`",
            path=_place(step),
            severity=Severity.WARNING,
            hint=f"`.{step.id}.{name}` is the output; the step's own is at `.step.{step.id}.{name}`; better rename it",
        )


def _step_id(ctx: Context, step: StepNode, promoted: dict[str, StepNode]) -> None:
    meta, path = ctx.runbook.model.meta, (*step.path, "id")
    _reserved(ctx, step.id, path)
    other = promoted.get(step.id)
    if step.id in meta.inputs:
        holder = "an input"
    elif step.id in meta.constants:
        holder = "a constant"
    elif other is not None:
        holder = f"an output of step `{other.id}`" if other is not step else "one of its own outputs"
    else:
        return
    ctx.add(
        "name-collision",
        f"the step id `{step.id}` is also the name of {holder}",
        path=path,
        hint="give the step another id",
    )


def _place(step: StepNode) -> Path:
    return (*step.path, "id") if step.named else step.path


def _shadowed(ctx: Context, step: StepNode, name: str, *, path: Path, what: str) -> None:
    scope = "" if step.fields.for_each is not None else ", or give the step a `scope`"
    ctx.add(
        "constant-shadowed",
        f"{what} would hide the constant `{name}`",
        path=path,
        hint=f"rename the constant{scope}",
    )


def _reserved(ctx: Context, name: str, path: Path, *, key: bool = False) -> None:
    if name in ctx.reserved:
        ctx.add(
            "reserved-name",
            f"`{name}` is reserved: it is a built-in variable of templates",
            path=path,
            key=key,
            hint="choose another name",
        )


__all__ = ["check_input_shadowed", "check_names"]
