"""Model and run of ``tool``: one call of ``ctx.call_tool``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from gert_core.api import Completed, ErrorKind, Failed, Result, ToolUse
from gert_core.kit.models import InputsModel

if TYPE_CHECKING:
    from gert_core.api import StepContext


class ToolStep(InputsModel):
    """A call of one action of a tool the runbook lists."""

    tool: str = Field(description="The tool, as listed under `tools`.")
    action: str | None = Field(default=None, description="The action; may be left out when the tool has one.")


def tool_use(step: ToolStep) -> ToolUse:
    """Return the tool and action that the step calls, whose contract it has."""
    return ToolUse(tool=step.tool, action=step.action)


def run(step: ToolStep, ctx: StepContext) -> Result:
    """Call the tool; a tool that reports failure makes the step ``failed`` with its outputs kept."""
    reply = ctx.call_tool(step.tool, step.action, ctx.inputs)
    detail = {
        "command": list(reply.command),
        "exit_code": reply.exit_code,
        "stdout": reply.stdout,
        "stderr": reply.stderr,
    }
    outputs, fields = dict(reply.outputs or {}), {"exit_code": reply.exit_code}
    if reply.failed:
        message = reply.message or f"{step.tool} exited with code {reply.exit_code}"
        return Failed(kind=ErrorKind.EXIT_CODE, message=message, outputs=outputs, fields=fields, detail=detail)
    return Completed(outputs=outputs, fields=fields, detail=detail)


__all__ = ["ToolStep", "run", "tool_use"]
