"""Build the approval request of a step: the document that an approver is shown and that the approval is bound to."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gert_core.approvals.binding import DOCUMENTS, MESSAGE, SHOWN, VERSION, as_older, request_of
from gert_core.engine.modes.peers import find_transport
from gert_core.engine.steps.called_tools import TOOLS, callable_tools, program_of
from gert_core.secrets.own import REQUEST
from gert_core.tools import REPLAYED, preview, render_action
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Action, ApprovalRequest
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.steps.execution import StepExecution


class Window(Struct, frozen=True):
    """When a request was made and when it expires; ``older`` when it was made without binding what else is shown.

    ``summarised`` when it has the summary of the step's type where the author describes nothing, as it was once done.
    ``narrow`` when it binds only the documents of the step itself, as it was once done, and none has changed since.
    ``listed`` when it lists tools that a step may call.
    """

    created: str
    expires_at: str
    older: bool = False
    summarised: bool = False
    narrow: bool = False
    listed: bool = False


def build_request(execution: StepExecution, *, generation: int, window: Window) -> ApprovalRequest:
    """Return the request as it is now: the same call directly before the step runs shows whether anything changed."""
    facts, services, compiled, decision = execution.facts, execution.services, execution.compiled, execution.decision
    gate = execution.gate
    document: dict[str, Any] = {
        "v": VERSION,
        "generation": generation,
        "run_id": facts.run_id,
        "step_key": execution.key,
        "step_id": compiled.id,
        "description": _description(execution, summarised=window.summarised),
        MESSAGE: None if gate is None else gate.message,
        "risk": decision.risk,
        "rule": decision.reason,
        "requested_by": facts.actor,
        "runbook_hash": facts.runbook.document.digest,
        "tool_hash": None if compiled.use is None else facts.runbook.tools[compiled.use.tool].digest,
        "policy_digest": facts.policies.digest,
        "contract": execution.contract.to_json(),
        "inputs": execution.inputs,
        "command": _command(execution),
        "min_approvers": decision.min_approvers,
        "approvers": list(decision.approvers),
        "exclude_actor": decision.exclude_actor,
        "expires_at": window.expires_at,
        SHOWN: {
            "runbook_name": facts.runbook.name,
            "step_type": compiled.type.name,
            "rule": decision.approval_rules,
            "command": _shown_command(execution),
            "created": window.created,
            "timeout": facts.policies.expires_after(gate),
            "require_signed": facts.policies.require_signed,
            "extensions": compiled.node.fields.extensions,
        },
    }
    if not window.narrow:  # what an approval opens is also what comes behind the step
        document[DOCUMENTS] = execution.run.documents
    if facts.callers:  # what they hand over is approved too, also where it is shown masked
        document["callers"] = list(facts.callers)
    if called := callable_tools(execution, listed=window.listed):
        document[TOOLS] = called
    if compiled.type.program is not None:
        document["vars_hash"] = services.digest(execution.layer.names_visible())
    request = request_of(services.masker.mask_event(document, REQUEST))
    return as_older(request) if window.older else request


def window_of(execution: StepExecution, recorded: RecordedApproval | None) -> Window:
    """Return when the request was made and when it expires; a resumed request keeps its times."""
    if recorded is not None and recorded.expires_at:
        return window_like(execution, recorded, recorded.document)
    now, seconds = execution.services.backend.now(execution), execution.facts.policies.expires_after(execution.gate)
    expires = datetime.fromtimestamp(now.timestamp() + seconds, UTC)
    return Window(timestamp(now), timestamp(expires))


def window_like(
    execution: StepExecution, before: RecordedApproval | ApprovalRequest, document: Mapping[str, Any] | None
) -> Window:
    """Return the window in which an earlier request is made again, in the form that its document has."""
    return Window(
        before.created,
        before.expires_at,
        older=document is not None and SHOWN not in document,
        summarised=document is not None and document.get("description") == execution.compiled.type.summary,
        narrow=document is not None and DOCUMENTS not in document and not _changed(execution),
        listed=document is not None and bool(document.get(TOOLS)),
    )


def _changed(execution: StepExecution) -> bool:
    """Return whether documents are others than at the start, or were in a process of the run."""
    recorded, state = execution.services.recorded, execution.services.journal.state
    return bool(state.changed_by) or (recorded is not None and recorded.gates.changed)


def _description(execution: StepExecution, *, summarised: bool) -> str:
    """Return the step's description; without one that of the action."""
    compiled = execution.compiled
    if execution.description is not None:
        return execution.description
    if compiled.use is None:
        return ""
    action = execution.facts.runbook.tools[compiled.use.tool].tool.actions[str(compiled.action)]
    return action.description or (compiled.type.summary if summarised else "")


def _shown_command(execution: StepExecution) -> list[str]:
    use, action = execution.compiled.use, execution.compiled.action
    if use is None or action is None:
        return []
    tool, where = execution.facts.runbook.tools[use.tool], _tool_directory(execution)
    return list(preview(tool, action, execution.inputs, directory=where))


def _command(execution: StepExecution) -> dict[str, Any] | None:
    """Return what is going to be started or called; a step that starts nothing has none."""
    compiled, facts = execution.compiled, execution.facts
    if compiled.type.program is not None:
        name = facts.runbook.functions.program(compiled.node, execution.step)
        return (
            None
            if name is None
            else {**program_of(execution, name, {}, None), "argv": [name], "cwd": _directory(execution)}
        )
    if compiled.use is None or compiled.action is None:
        return None
    tool = facts.runbook.tools[compiled.use.tool]
    key = facts.idempotency_key(execution.key)
    where = _tool_directory(execution)
    action = render_action(tool, compiled.action, execution.inputs, idempotency_key=key, directory=where)
    binary, secrets = tool.tool.meta.binary, facts.secrets.present(sorted(facts.secrets.allowed(tool.name)))
    argv = [binary, *action.argv[1:]] if binary and action.argv else list(action.argv)
    command: dict[str, Any] = {
        **program_of(execution, argv[0] if argv else binary, action.env, tool.cwd),
        "argv": argv,
        "stdin": action.stdin,
        # Secrets stand here by their names; what is rendered from one is masked like everything else.
        "env": {**{name: f"secret {name}" for name, there in secrets.items() if there}, **action.env},
        "cwd": _directory(execution, tool.cwd),
    }
    if not argv or _called_by_name(execution, tool, action):
        command |= {"connect": tool.tool.meta.connect, "method": action.method or action.name}
    if action.config:
        command["config"] = dict(action.config)
    return command


def _called_by_name(execution: StepExecution, tool: ToolNode, action: Action) -> bool:
    """Return whether something is called by its name, so that the command line does not tell what is done."""
    if execution.facts.mode == "replay":  # whatever plugins this machine has
        return action.method is not None
    transport = find_transport(execution.facts.registry, tool.tool.meta.transport)
    return transport is not None and "argv" not in transport.requires


def _directory(execution: StepExecution, cwd: str | None = None) -> str | None:
    if execution.facts.mode == "replay":
        return None
    return cwd or execution.facts.cwd or os.getcwd()  # noqa: PTH109 - as a tool sees it


def _tool_directory(execution: StepExecution) -> str | None:
    """Return what ``.tool.dir`` is; None is the directory itself."""
    return REPLAYED if execution.facts.mode == "replay" else None


__all__ = ["Window", "build_request", "window_like", "window_of"]
