"""Resolve the inputs of one step: spread, render, add defaults, coerce, and check against the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, StepProblem, Undecided
from gert_core.contracts import accepts_any_input
from gert_core.engine.state import STATUS
from gert_core.engine.trees import copy_data
from gert_core.template import Symbol, TemplateError
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Param
    from gert_core.engine.steps.execution import StepExecution


def resolve_step_inputs(execution: StepExecution, *, partial: bool) -> dict[str, object]:
    """Return ``inputs_from`` left to right, then ``inputs``, then the contract's defaults; null counts as not given."""
    step, contract = execution.step, execution.contract
    given: dict[str, object] = {}
    sources = step.inputs_from or []
    for source in [sources] if isinstance(sources, str) else sources:
        given.update(_spread(execution, source, partial=partial))
    given.update(step.inputs)
    out: dict[str, object] = {}
    for name, param in contract.inputs.items():
        value = given.pop(name, None)
        if value is None and param.has_default:
            value = param.default
        if value is None:
            if param.required:
                raise StepProblem(
                    ErrorKind.INPUT_MISSING, f"input {name!r} is required by the contract and was not given"
                )
            continue
        out[name] = _coerced(name, value, param)
    if given and not accepts_any_input(execution.compiled.node):
        names = ", ".join(sorted(repr(name) for name in given))
        raise StepProblem(ErrorKind.INPUT_UNKNOWN, f"the contract declares no input {names}")
    out.update(given)
    return copy_data(out)  # type: ignore[no-any-return]


def _spread(execution: StepExecution, source: str, *, partial: bool) -> Mapping[str, object]:
    path = tuple(part for part in source.removeprefix(".").split(".") if part)
    try:
        value = execution.layer.resolve(path)
    except Undecided:
        if partial:
            return {}
        raise
    except TemplateError as error:
        raise StepProblem(ErrorKind.TEMPLATE, f"inputs_from: {error.message}") from None
    if not isinstance(value, dict):
        raise StepProblem(ErrorKind.WRONG_TYPE, f"inputs_from: {source} is not an object")
    node = execution.facts.runbook.by_id.get(path[0])
    if node is not None and len(path) == 1 and node.fields.for_each is None:
        outputs = execution.facts.compiled.contracts.outputs(node)
        return {n: v for n, v in value.items() if n in outputs or n not in (STATUS, *node.type.fields)}
    return value


def _coerced(name: str, value: object, param: Param) -> object:
    if isinstance(value, Symbol):
        return value
    try:
        return coerce(value, param.type)
    except ValueError as error:
        if isinstance(value, str) and "{{" in value:
            return value
        raise StepProblem(ErrorKind.INPUT_TYPE, f"input {name!r}: {error}") from None


__all__ = ["resolve_step_inputs"]
