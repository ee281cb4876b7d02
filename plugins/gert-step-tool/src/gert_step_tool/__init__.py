"""The step type ``tool``: runs one action of a declared tool."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``tool``; the contract is the tool's own."""
    return [
        StepType(
            name="tool",
            model="gert_step_tool.step:ToolStep",
            run="gert_step_tool.step:run",
            fields={"exit_code": "int"},
            also_called={
                **dict.fromkeys(("shell", "command", "script", "exec", "bash", "run_command", "run", "cmd"), ""),
                **dict.fromkeys(("win_shell", "win_command", "raw", "uri", "http", "core.local", "core.remote"), ""),
                **dict.fromkeys(("runShellScript", "runCommand", "executeScript", "executeAwsApi"), ""),
                **dict.fromkeys(("with", "args", "arguments", "params", "parameters"), "inputs"),
            },
            tool_use="gert_step_tool.step:tool_use",
            summary="Runs an action of a declared tool.",
        )
    ]
