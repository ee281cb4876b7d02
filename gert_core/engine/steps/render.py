"""The render phase: a step's own fields, the contract of the rendered step, its scope, principal and inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, Principal, StepProblem, Undecided
from gert_core.contracts import stricter
from gert_core.documents.type_functions import MissingTool
from gert_core.engine.again import SecretNeeded
from gert_core.engine.steps.body import ModelFailed
from gert_core.engine.steps.inputs import resolve_step_inputs
from gert_core.engine.steps.results import type_fault
from gert_core.template import TemplateError, to_text

if TYPE_CHECKING:
    from gert_core.engine.steps.execution import StepExecution


def render_step(execution: StepExecution) -> None:
    """Render everything of a step that has templates; raise ``StepProblem`` when that is impossible."""
    compiled, layer = execution.compiled, execution.layer
    try:
        try:
            execution.step = compiled.body.render(layer)
        except Undecided as undecided:
            execution.undecided = undecided
            execution.step = compiled.body.render(layer, partial=True)
    except TemplateError as error:
        raise StepProblem(ErrorKind.TEMPLATE, error.message) from None
    except ModelFailed as failed:
        raise type_fault(execution, "model", failed.__cause__ or failed) from failed
    if compiled.contract_varies:
        _update_contract(execution)
    if compiled.gated:
        execution.gate = execution.facts.runbook.functions.gate(compiled.node, execution.step)
        _check_gate(execution)
    if compiled.scope is not None:
        render_scope(execution)
    if compiled.named is not None:
        _render_principal(execution)
    if compiled.described is not None:
        _render_description(execution)
    if compiled.has_inputs:
        execution.inputs = resolve_step_inputs(execution, partial=execution.services.backend.symbolic)
    elif compiled.leaf:
        execution.inputs = compiled.body.dump(execution.step)
    if (recorded := execution.services.recorded) is not None:
        recorded.lost.refuse(execution.inputs)
        recorded.gates.confirm(execution, recorded.masker)


def _check_gate(execution: StepExecution) -> None:
    """Refuse an approver that a template gave, a group no policy declares or no person's id: it could never approve."""
    gate, policies = execution.gate, execution.facts.policies
    if gate is None or not policies.complete or execution.undecided is not None:
        return
    from gert_core.governance.places import approver_fault

    for name in gate.approvers:
        if (found := approver_fault(name, policies.people)) is not None:
            raise StepProblem(ErrorKind.POLICY, f"its approvers name {found[0]}; {found[1]}")


def _update_contract(execution: StepExecution) -> None:
    """Take the contract that the step's type states for the rendered step; the one for the templates holds too."""
    compiled = execution.compiled
    try:
        levels = execution.facts.compiled.contracts.rendered_levels(compiled.node, execution.step)
    except MissingTool as missing:
        raise StepProblem(ErrorKind.TOOL_UNDECLARED, str(missing)) from None
    if levels != compiled.levels:
        execution.rendered_levels = levels
        execution.contract = stricter(compiled.contract, levels[-1])


def render_scope(execution: StepExecution, *, quiet: bool = False) -> None:
    """Render the scope of a step; ``quiet`` for a step that has run already, whose scope was valid."""
    scope, layer = execution.compiled.scope, execution.layer
    if scope is None:
        return
    try:
        text = str(scope.render(layer))
    except Undecided:
        text = str(scope.render_partial(layer))
    except SecretNeeded:
        if quiet:
            return
        raise
    except TemplateError as error:
        if quiet:
            return
        raise StepProblem(ErrorKind.TEMPLATE, f"scope: {error.message}") from None
    execution.scope = tuple(part for part in text.replace(".", "/").split("/") if part)
    if not execution.scope and not quiet:
        raise StepProblem(ErrorKind.TEMPLATE, f"scope: {text!r} is not a valid scope")


def _render_principal(execution: StepExecution) -> None:
    assert execution.compiled.named is not None  # noqa: S101 - asked by the caller
    try:
        execution.principal = Principal(**execution.compiled.named.render_partial(execution.layer))
    except TemplateError as error:
        raise StepProblem(ErrorKind.TEMPLATE, f"principal: {error.message}") from None


def _render_description(execution: StepExecution) -> None:
    assert execution.compiled.described is not None  # noqa: S101 - asked by the caller
    try:
        execution.description = to_text(execution.compiled.described.render_partial(execution.layer))
    except TemplateError as error:
        raise StepProblem(ErrorKind.TEMPLATE, f"description: {error.message}") from None


__all__ = ["render_scope", "render_step"]
