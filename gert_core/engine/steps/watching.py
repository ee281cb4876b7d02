"""Let the listener of a run watch a call of a tool: what is called, and what the tool writes while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from gert_core.api import Action
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.progress import CallWatcher
    from gert_core.engine.steps.execution import StepExecution


def watched(
    execution: StepExecution, tool: ToolNode, action: Action, *, hidden: bool
) -> tuple[Action, CallWatcher | None]:
    """Return the action as it is to be called, and who watches the call; ``hidden``: not what the tool writes."""
    binary = tool.tool.meta.binary
    if action.argv:
        command = (binary, *action.argv[1:]) if binary else action.argv
    else:
        command = (binary or tool.name, action.method or action.name)
    watcher = execution.services.progress.calling(execution.info, tool.name, action.name, command)
    if watcher is None or hidden:
        return action, watcher
    return replace(action, output=watcher.feed), watcher


__all__ = ["watched"]
