"""Check a step's inputs against its contract: every one declared, none missing, types that can fit."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from gert_core.contracts import accepts_any_input
from gert_core.documents.runbook import StepFields
from gert_core.template import infer
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.shapes import Shape, type_hint
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Container

    from gert_core.api import Contract, Param
    from gert_core.documents.tree import Path, StepNode
    from gert_core.kit.models import InputsModel
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import Facts
    from gert_core.validation.domain.references import References

_FITS: Final = {
    "string": frozenset({"string", "int", "float", "bool"}),
    "int": frozenset({"int", "float", "string"}),
    "float": frozenset({"int", "float", "string"}),
    "bool": frozenset({"bool", "string"}),
    "list": frozenset({"list", "string"}),
    "object": frozenset({"object", "string"}),
}
"""Which types a value may have so that it can still be coerced to the declared one when the step runs."""


def check_inputs(ctx: Context, refs: References, step: StepNode, facts: Facts) -> None:
    """Report unknown, missing and unfitting inputs of a step that takes inputs, or includes a runbook that does."""
    if step.includes:
        from gert_core.validation.domain.included import check_included

        check_included(ctx, refs, step)
    if not ctx.plans.of(type(step.body)).takes_inputs:
        return
    body: InputsModel = step.body  # type: ignore[assignment] # asked before
    contract = facts.contract
    spread: set[str] | None = set()
    if body.inputs_from is not None:
        spread = _spread(ctx, refs, step, contract)
    if contract is None:
        return
    given, declared = body.inputs, contract.inputs
    meant: set[str | None] = set()
    for name, value in given.items():
        param = declared.get(name)
        if param is None:
            if not accepts_any_input(step):
                meant.add(_unknown(ctx, step, name, [*contract.inputs], given))
        elif value is not None:
            check_type(ctx, refs, value, param, name=name, path=(*step.path, "inputs", name))
    if spread is None:
        return
    for name, param in declared.items():
        if param.required and not param.has_default and given.get(name) is None and name not in spread | meant:
            _missing(ctx, step, name)


def _unknown(ctx: Context, step: StepNode, name: str, declared: list[str], given: Container[str]) -> str | None:
    """Report an input that the contract does not declare; return the declared one that is probably meant."""
    near = ctx.report.nearest(name, [one for one in declared if one not in given])
    if near is not None:
        hint = f"did you mean `{near}`?"
    elif name in StepFields.model_fields and name not in step.raw:
        hint = f"move `{name}` out of `inputs`, to the step"
    else:
        hint = f"its inputs: {listing(declared) if declared else 'none'}"
    ctx.add(
        "input-unknown",
        f"the contract of `{step.id}` declares no input `{name}`",
        path=(*step.path, "inputs", name),
        key=True,
        hint=hint,
    )
    return near


def _missing(ctx: Context, step: StepNode, name: str) -> None:
    empty = name in step.body.inputs  # type: ignore[attr-defined] # only asked for models with inputs
    given = "inputs" in step.raw
    ctx.add(
        "input-missing",
        f"step `{step.id}` needs the input `{name}`" + (", which is empty" if empty else ""),
        path=(*step.path, "inputs", name) if empty else (*step.path, "inputs") if given else step.path,
        key=given,
        hint=f"add it under `inputs`: `{name}: ...`",
    )


def check_type(ctx: Context, refs: References, value: object, param: Param, *, name: str, path: Path) -> None:
    """Report a value that cannot be coerced to the declared type in any run."""
    wanted = param.type
    if wanted == "any":
        return
    if isinstance(value, str) and "{{" in value:
        if wanted == "string" and not (value.startswith("{{") and value.count("{{") == 1):
            return
        compiled = refs.compiled(value)
        if compiled.error is not None:
            return
        kind = infer(compiled.template, refs.kind)
        if kind != "any" and kind not in _FITS.get(wanted, {kind}):
            ctx.add(
                "input-type",
                f"input `{name}` is declared as {wanted} and gets a value of type {kind}",
                path=path,
                hint="take one item of it with `index`" if kind == "list" else None,
            )
    elif isinstance(value, (list, dict)):
        kind = "list" if isinstance(value, list) else "object"
        if kind not in _FITS.get(wanted, {kind}):
            message = f"input `{name}` is declared as {wanted} and gets a {kind}"
            ctx.add("input-type", message, path=path, hint=type_hint(wanted))
    elif wanted != "string":
        try:
            coerce(value, wanted)
        except ValueError as error:
            message = f"input `{name}` is declared as {wanted}: {error}"
            ctx.add("input-type", message, path=path, hint=type_hint(wanted))


def _spread(ctx: Context, refs: References, step: StepNode, contract: Contract | None) -> set[str] | None:
    """Return the names that ``inputs_from`` adds; None when they are unknown."""
    sources = step.body.inputs_from  # type: ignore[attr-defined] # only asked for models with inputs
    single = isinstance(sources, str)
    names: set[str] = set()
    certain = True
    for index, source in enumerate([sources] if single else sources):
        path: Path = (*step.path, "inputs_from") if single else (*step.path, "inputs_from", index)
        keys = _keys(ctx, refs, source, path=path)
        if keys is None:
            certain = False
            continue
        names.update(keys)
        if contract is None or accepts_any_input(step):
            continue
        for key, shape in keys.items():
            param = contract.inputs.get(key)
            if param is None:
                ctx.add(
                    "inputs-from-key",
                    f"`{source}` spreads `{key}`, which the contract of `{step.id}` does not declare",
                    path=path,
                    hint=ctx.report.did_you_mean(key, contract.inputs) or f"its inputs: {listing(contract.inputs)}",
                )
            elif shape.kind != "any" and shape.kind not in _FITS.get(param.type, {shape.kind}):
                ctx.add(
                    "input-type",
                    f"input `{key}` is declared as {param.type} and `{source}` gives a value of type {shape.kind}",
                    path=path,
                )
    return names if certain else None


def _keys(ctx: Context, refs: References, source: str, *, path: Path) -> dict[str, Shape] | None:
    """Return the keys of one source with their shapes; None (and a finding, if that is certain) when it has none."""
    parts = tuple(part for part in source.removeprefix(".").split(".") if part)
    found = refs.find(parts) if parts and "{" not in source else None
    if isinstance(found, Shape):
        if found.kind == "any":
            return None
        if found.kind == "object":
            if found.fields is None or found.item is not None:
                return None
            step = ctx.runbook.by_id.get(parts[0])
            if step is not None and len(parts) == 1:
                return dict(refs.facts.of(step).outputs)
            return dict(found.fields)
        ctx.add(
            "inputs-from-unknown",
            f"`inputs_from` needs a map, and `{source}` is of type {found.kind}",
            path=path,
            hint="name a constant that is a map, or a step before this one",
        )
        return None
    if found is None and refs.env.open:
        return None
    steps = (name for name in refs.env.names if name in ctx.runbook.by_id)
    ctx.add(
        "inputs-from-unknown",
        f"`inputs_from` names `{source}`, which is neither a constant nor a step before this one",
        path=path,
        hint=ctx.report.did_you_mean(source, chain(ctx.runbook.model.meta.constants, steps)),
    )
    return None


__all__ = ["check_inputs", "check_type"]
