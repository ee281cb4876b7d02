"""Call a tool for a step: number the calls of an attempt, and trace those that no other event tells of."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from gert_core.api import ErrorKind, EventType, StepProblem
from gert_core.contracts import find_action
from gert_core.trace.writer import EventDataError
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Reply
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.steps.execution import StepExecution


class _Call(Struct, frozen=True, kw_only=True):
    """One call, as ``tool_call`` tells of it; ``error`` is the kind of the error when there was no reply."""

    tool: str
    action: str
    inputs: Mapping[str, object]
    exit_code: object
    error: str | None = None


def action_name(tool: ToolNode, action: str | None) -> str:
    """Return the action's name, also when the tool has only one; raise ``StepProblem`` for an unknown name."""
    try:
        return find_action(tool, action)[0]
    except LookupError as error:
        raise StepProblem(ErrorKind.ACTION_UNKNOWN, str(error)) from None


def call_tool(execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
    """Return the tool's reply.

    The first call of a step that uses a tool is told by its ``step_start`` and ``step_complete``; every other one is
    traced as ``tool_call`` when it has ended.
    """
    backend = execution.services.backend
    execution.calls += 1
    if execution.calls == 1 and execution.compiled.use is not None:
        return backend.call_tool(execution, tool, action, inputs)
    try:  # what cannot be recorded is not done
        execution.services.journal.writer.encode(inputs)
    except EventDataError as error:
        raise TypeError(f"the inputs of {tool.name} {action} are not JSON: {error.__context__}") from None
    began = time.perf_counter()
    try:
        reply = backend.call_tool(execution, tool, action, inputs)
    except StepProblem as problem:
        call = _Call(tool=tool.name, action=action, inputs=inputs, exit_code=problem.detail.get("exit_code"))
        _trace(execution, replace(call, error=problem.kind), began)
        raise
    _trace(execution, _Call(tool=tool.name, action=action, inputs=inputs, exit_code=reply.exit_code), began)
    return reply


def _trace(execution: StepExecution, call: _Call, began: float) -> None:
    data = {"step_id": execution.compiled.id, **asdict(call)}
    if call.error is None:
        del data["error"]
    data["duration"] = format_duration(execution.services.backend.step_seconds(began))
    execution.add(EventType.TOOL_CALL, data, fresh=True)


__all__ = ["action_name", "call_tool"]
