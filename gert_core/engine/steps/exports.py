"""Add the results of a finished step to the variables: its entry, promoted names, scope and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, StepProblem, StepStatus
from gert_core.documents.exclusive import exclusive
from gert_core.engine.steps.attempts import keep_attempts
from gert_core.engine.trees import MISSING, descend
from gert_core.kit.excerpts import part
from gert_core.template import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker

DETAIL_LIMIT = 16 * 1024
_SHORTENED: Final = "… "


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
        data["detail"] = bounded_detail(detail)
    return data


def bounded_detail(detail: Mapping[str, object]) -> dict[str, object]:
    """Return a detail as it is recorded: of long captured texts the end."""
    for value in detail.values():  # few are so long, and to look takes half as long as to build anew
        if isinstance(value, str) and len(value) > DETAIL_LIMIT:
            return {name: _bounded(one) if isinstance(one, str) else one for name, one in detail.items()}
    return dict(detail)


def _bounded(value: str) -> str:
    """Return a captured text, of a long one the end; this is for details, outputs are never shortened.

    Its first line states what is left out, in lines where the text has lines.
    """
    start = len(value) - DETAIL_LIMIT
    if start <= 0:
        return value
    line = value.find("\n", start, -1) + 1
    if not line:
        return f"{_SHORTENED}{start} characters before\n{part(value, start)}"
    return f"{_SHORTENED}{value.count(chr(10), 0, line)} lines before\n{part(value, line)}"


def is_shortened(text: str) -> bool:
    """Return whether a captured text in a trace is only the end of what was written."""
    return text.startswith(_SHORTENED)


def _without_fragments(value: Any, masker: Masker) -> Any:
    if isinstance(value, str):
        return masker.mask_fragments(value)
    if isinstance(value, list | tuple):
        return [_without_fragments(one, masker) for one in value]
    return {k: _without_fragments(v, masker) for k, v in value.items()} if isinstance(value, dict) else value


def mask_failure(data: dict[str, Any], masker: Masker) -> dict[str, Any]:
    """Return the data of a failure without fragments of secrets, which shortened texts may contain."""
    if not masker.count or "failure" not in data:
        return data
    failure = {**data["failure"], "message": masker.mask_fragments(str(data["failure"]["message"]))}
    detail = data.get("detail") or {}
    excerpts = {name: _without_fragments(value, masker) for name, value in detail.items()}
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
    exported: dict[str, object] = {}
    if compiled.exports:
        found = ((name, _exported({**fields, **outputs}, name, path)) for name, path in compiled.exports)
        exported = {name: value for name, value in found if value is not MISSING}
        for name in exported:
            refuse_collision(execution, name)
    set_entry(execution, status, outputs, fields)
    if execution.scope is not None:
        layer.write_scope(execution.scope, outputs)
    else:
        layer.promote(compiled.id, outputs)
    if not exported:
        return []
    for name, value in exported.items():
        layer.export(compiled.id, name, value)
    return list(exported)


def set_entry(
    execution: StepExecution, status: StepStatus, outputs: Mapping[str, object], fields: Mapping[str, object]
) -> None:
    """Store what is read at the step's id: its outputs, and what else is known about it."""
    compiled = execution.compiled
    entry, word = {**fields, **outputs}, execution.status(status)
    if compiled.hidden:
        hidden = {name: fields[name] for name in compiled.hidden if name in fields}
        execution.layer.set_step(compiled.id, entry, word, **hidden)
    else:
        execution.layer.set_step(compiled.id, entry, word)
    if execution.attempt > 1 or compiled.retry is not None:
        keep_attempts(execution)


def _exported(values: Mapping[str, object], name: str, path: tuple[str, ...]) -> object:
    """Return the value that a step exports, or a marker; below one that is known only in a real run, it is so too."""
    if len(path) > 1 and isinstance(values.get(path[0]), Symbol):
        return Symbol(f"{{{{ .{name} }}}}")
    return descend(values, path)


def keep_entry(
    execution: StepExecution, status: StepStatus, outputs: Mapping[str, object], fields: Mapping[str, object]
) -> None:
    """Store the entry of a step whose export collided, and promote nothing."""
    execution.layer.set_step(execution.compiled.id, {**fields, **outputs}, execution.status(status))


def refuse_collision(execution: StepExecution, name: str) -> None:
    """Refuse to export a name of an input, a constant or a loop variable, or one that another step exports too.

    A name that another step has only promoted is replaced, as a later promotion would replace it.
    """
    held = holder(execution, name)
    if held is not None:
        raise StepProblem(ErrorKind.EXPORT_COLLISION, f"cannot export {name}: the name is taken by {held}")


def holder(execution: StepExecution, name: str) -> str | None:
    """Return what keeps a step from exporting a name."""
    layer, facts, compiled = execution.layer, execution.facts, execution.compiled
    if name in facts.inputs.values or name in facts.constants or layer.owner(name) == "":
        return "an input, a constant or a loop variable"
    owner = layer.exporter(name)
    if owner is None or owner == compiled.id:
        return None
    other = facts.runbook.by_id.get(owner)
    if other is not None and (exclusive(other, compiled.node) or other.fields.for_each is not None):
        return None
    return f"step {owner}"


__all__ = [
    "apply_state",
    "bounded_detail",
    "completion_data",
    "holder",
    "is_shortened",
    "keep_entry",
    "mask_failure",
    "refuse_collision",
    "set_entry",
]
