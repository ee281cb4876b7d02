"""Add the results of a finished step to the variables: its entry, promoted names, scope and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import ErrorKind, Flow, StepProblem, StepStatus
from gert_core.kit.excerpts import part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker

DETAIL_LIMIT = 16 * 1024


def completion_data(
    outputs: Mapping[str, object],
    fields: Mapping[str, object],
    failure: Mapping[str, str] | None,
    detail: Mapping[str, object],
) -> dict[str, Any]:
    """Return the data of ``step_complete`` beyond status and duration; empty parts are left out."""
    data: dict[str, object] = {"outputs": outputs}
    if fields:
        data["fields"] = fields
    if failure is not None:
        data["failure"] = failure
    if detail:
        data["detail"] = {name: _bounded(value) for name, value in detail.items()}
    return data


def _bounded(value: object) -> object:
    """Return the end of a long captured text; this is for details, outputs are never shortened.

    Its first line states what is left out, in lines where the text has lines.
    """
    if not isinstance(value, str) or len(value) <= DETAIL_LIMIT:
        return value
    start = len(value) - DETAIL_LIMIT
    line = value.find("\n", start, -1) + 1
    if not line:
        return f"… {start} characters before\n{part(value, start)}"
    return f"… {value.count(chr(10), 0, line)} lines before\n{part(value, line)}"


def mask_failure(data: dict[str, Any], masker: Masker) -> dict[str, Any]:
    """Return the data of a failure without fragments of secrets, which shortened texts may contain."""
    if not masker.count or "failure" not in data:
        return data
    failure = {**data["failure"], "message": masker.mask_fragments(str(data["failure"]["message"]))}
    detail = data.get("detail") or {}
    excerpts = {k: masker.mask_fragments(v) if isinstance(v, str) else v for k, v in detail.items()}
    return {**data, "failure": failure, **({"detail": excerpts} if detail else {})}


def apply_state(
    execution: StepExecution, status: StepStatus, outputs: Mapping[str, object], fields: Mapping[str, object]
) -> list[str]:
    """Store the variables for later steps; return the names exported.

    The values of an item of a loop are not stored: the loop has collected them already. Exports are checked first,
    so that a collision (``StepProblem``) leaves the variables unchanged.
    """
    compiled, layer = execution.compiled, execution.layer
    if execution.item is not None or execution.collected:
        return []
    if status is StepStatus.SKIPPED:
        before = layer.step(compiled.id)
        layer.set_step(compiled.id, before if isinstance(before, dict) else {}, execution.status(status))
        return []
    exported = [name for name in compiled.node.fields.export if name in outputs]
    for name in exported:
        refuse_collision(execution, name)
    hidden = {name: fields[name] for name in compiled.hidden if name in fields} if compiled.hidden else {}
    layer.set_step(compiled.id, {**fields, **outputs}, execution.status(status), **hidden)
    if execution.scope is not None:
        layer.write_scope(execution.scope, outputs)
    else:
        layer.promote(compiled.id, outputs)
    for name in exported:
        layer.export(compiled.id, name, outputs[name])
    return exported


def keep_entry(
    execution: StepExecution, status: StepStatus, outputs: Mapping[str, object], fields: Mapping[str, object]
) -> None:
    """Store the entry of a step whose export collided, and promote nothing."""
    execution.layer.set_step(execution.compiled.id, {**fields, **outputs}, execution.status(status))


def refuse_collision(execution: StepExecution, name: str) -> None:
    """Refuse to export a name that an input, a constant or another step has already."""
    owner = execution.layer.owner(name)
    if owner is None or owner == execution.compiled.id:
        return
    if owner:
        other = execution.facts.runbook.by_id.get(owner)
        if other is not None and exclusive(other, execution.compiled.node):
            return
    held = f"step {owner}" if owner else "an input, a constant or a loop variable"
    raise StepProblem(ErrorKind.EXPORT_COLLISION, f"cannot export {name}: the name is taken by {held}")


def exclusive(one: StepNode, other: StepNode) -> bool:
    """Return whether two steps are in different arms of which only one can run."""
    arms = {step.path: block for step, block in _ancestry(one)}
    for step, block in _ancestry(other):
        if (arm := arms.get(step.path)) is not None:
            if arm.path == block.path:
                return False
            return step.type.flow is Flow.ONE_OF or _replaces(arm, block) or _replaces(block, arm)
    first, then = _top(one), _top(other)
    return _replaces(first, then) or _replaces(then, first)


def _top(node: StepNode) -> BlockNode:
    """Return the list of the runbook that a step is in, at any depth."""
    while True:
        assert node.within is not None  # noqa: S101 - every step is in a list
        if node.within.owner is None:
            return node.within
        node = node.within.owner


def _replaces(block: BlockNode, other: BlockNode) -> bool:
    """Return whether a block handles the failure of another: its steps take the place of that one's."""
    return block.handles and not other.cleanup


def _ancestry(node: StepNode) -> list[tuple[StepNode, BlockNode]]:
    """Return the steps around a step, innermost first, each with the block that contains it."""
    found = []
    block = node.within
    while block is not None and block.owner is not None:
        found.append((block.owner, block))
        block = block.owner.within
    return found


__all__ = ["apply_state", "completion_data", "exclusive", "keep_entry", "mask_failure", "refuse_collision"]
