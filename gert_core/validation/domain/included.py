"""Check what a step gives to the runbooks it includes: every input declared, none missing, values that can fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Param
from gert_core.documents.limits import check_limits
from gert_core.validation.domain.inputs import check_type
from gert_core.validation.domain.report import listing
from gert_core.values import coerce, coerce_text

if TYPE_CHECKING:
    from gert_core.api import Include
    from gert_core.documents.runbook import InputModel
    from gert_core.documents.tree import Included, Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.references import References


def check_included(ctx: Context, refs: References, step: StepNode) -> None:
    """Report unknown, missing and unfitting inputs of the runbooks that a step includes, at the step."""
    for node, include in zip(step.includes, ctx.runbook.functions.includes(step), strict=False):
        if node.included is None or node.block is None or node.block.name != include.path:
            continue  # one before it could not be read
        _check(ctx, refs, step, include, node.included)


def _check(ctx: Context, refs: References, step: StepNode, include: Include, included: Included) -> None:
    declared = included.runbook.model.meta.inputs
    base = (*step.path, *include.inputs_at)
    meant: set[str | None] = set()
    for name, value in include.inputs.items():
        model = declared.get(name)
        if model is None:
            near = ctx.report.nearest(name, [one for one in declared if one not in include.inputs])
            meant.add(near)
            ctx.add(
                "input-unknown",
                f"the runbook `{include.path}` has no input `{name}`",
                path=(*base, name),
                key=True,
                hint=f"did you mean `{near}`?" if near else f"its inputs: {listing(declared) or 'none'}",
            )
        elif value is not None:
            before = len(ctx.report.found)
            check_type(ctx, refs, value, Param(type=model.type), name=name, path=(*base, name))
            if len(ctx.report.found) == before:
                _limits(ctx, model, name, value, (*base, name))
    for name, model in declared.items():
        if not model.required or model.default is not None or include.inputs.get(name) is not None or name in meant:
            continue
        source = f"; `from: {model.from_}` is only asked when it is run by itself" if model.from_ else ""
        given = include.inputs_at[0] in step.raw if include.inputs_at else False
        ctx.add(
            "input-missing",
            f"the runbook `{include.path}` needs the input `{name}`{source}",
            path=base if given else step.path,
            key=given,
            hint=f"add it under `{'.'.join(map(str, include.inputs_at))}`: `{name}: ...`",
        )


def _limits(ctx: Context, model: InputModel, name: str, value: object, path: Path) -> None:
    """Report a value without templates that the input does not take."""
    if _has_template(value):
        return
    try:
        check_limits(model, coerce_text(value, model.type) if isinstance(value, str) else coerce(value, model.type))
    except ValueError as error:
        why = "its value is secret and not shown" if model.secret else str(error)
        ctx.add("input-type", f"input `{name}` does not take this value: {why}", path=path)


def _has_template(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_template, value.values()))
    if isinstance(value, list):
        return any(map(_has_template, value))
    return isinstance(value, str) and "{{" in value


__all__ = ["check_included"]
