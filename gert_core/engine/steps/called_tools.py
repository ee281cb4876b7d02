"""The tools that a step's type may call: an approval of the step is bound to their documents and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, StepProblem
from gert_core.approvals.binding import bound_program
from gert_core.tools import preview

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Action
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.steps.execution import StepExecution

TOOLS: Final = "tools"
"""The part of a request that has them, by tool and action; a step that can call none has no such part."""
_COMMAND: Final = "command"
_OPEN: Final = "{{"
_PATH: Final = "PATH"
_EXCHANGED: Final = "its program was exchanged after that"


def callable_tools(execution: StepExecution, *, listed: bool = False) -> dict[str, Mapping[str, Any]]:
    """Return what the step may call: actions within its contract, with the programs that they would start.

    A step that names a tool calls that one, which is the command of its request. An action whose program depends on
    its inputs is left out, and cannot be called under the approval. With ``listed`` a type that declares to call none
    has them too, as in requests that were made before it did.
    """
    facts = execution.facts
    step_type = execution.compiled.type
    if execution.compiled.use is not None or step_type.program is not None:
        return {}
    if not step_type.calls_tools and not listed:
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    programs: dict[object, Mapping[str, str | None]] = {}
    for tool in facts.runbook.tools.values():
        for action, contract in tool.contracts.items():
            if not contract.within(execution.contract):
                continue
            model = tool.tool.actions[action]
            path = str((model.env or {}).get(_PATH, ""))
            started = tool.tool.meta.binary or (preview(tool, action, {})[0] if model.argv else None)
            if _OPEN in path or _OPEN in (started or ""):
                continue
            key = (started, path, tool.cwd)
            if key not in programs:
                programs[key] = program_of(execution, started, {_PATH: path} if path else {}, tool.cwd)
            found[f"{tool.name} {action}"] = _entry(tool, programs[key])
    return found


def check_called(execution: StepExecution, tool: ToolNode, action: Action) -> None:
    """Refuse a call under an approval that is not bound to it, or whose program is another one by now.

    It is asked directly before the call: between the approval and the call the run claims, writes and syncs.
    """
    name, use = f"{tool.name} {action.name}", execution.compiled.use
    started = tool.tool.meta.binary or next(iter(action.argv), None)
    now = program_of(execution, started, action.env, tool.cwd)
    if use is not None and execution.facts.runbook.tools.get(use.tool) is tool:  # its name may be a path
        _check_command(execution, name, now)
        return
    bound = (execution.approved[0].document.get(TOOLS) or {}).get(execution.services.masker.mask_text(name))
    if bound is None or execution.services.masker.mask(_entry(tool, now)) != bound:
        raise _not_approved(name, _EXCHANGED if bound is not None else "its program could not be known before")


def check_runner(execution: StepExecution, name: str | None) -> None:
    """Refuse to start the program of a step's type that is another one by now than the one that was approved."""
    if name is not None:
        _check_command(execution, name, program_of(execution, name, {}, None))


def _check_command(execution: StepExecution, name: str, now: Mapping[str, str | None]) -> None:
    command = execution.approved[0].document.get(_COMMAND) or {}
    shown = execution.services.masker.mask_event(now, _COMMAND)  # as the request has it
    if any(command.get(field) != value for field, value in shown.items()):
        raise _not_approved(name, _EXCHANGED)


def _not_approved(name: str, why: str) -> StepProblem:
    message = f"{name} is not what was approved with the step: {why}"
    return StepProblem(ErrorKind.APPROVAL_VOID, message, acted=False)


def _entry(tool: ToolNode, program: Mapping[str, str | None]) -> dict[str, Any]:
    return {"tool_hash": tool.digest, **program}


def program_of(
    execution: StepExecution, name: str | None, environ: Mapping[str, str], cwd: str | None
) -> Mapping[str, str | None]:
    """Return the program that would be started: its path and the hash of its content."""
    if execution.facts.mode == "replay":  # nothing is started, and the trace is the same on every machine
        return {"program": None, "program_sha256": None}
    facts = execution.facts
    return bound_program(name, {**facts.environ, **environ}, cwd or facts.cwd, deadline=execution.frame.deadline)


__all__ = ["TOOLS", "callable_tools", "check_called", "check_runner", "program_of"]
