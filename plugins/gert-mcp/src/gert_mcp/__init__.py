"""The command ``gert mcp``: runbooks for agents, over MCP."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Command


@hookimpl
def gert_commands() -> list[Command]:
    """Register ``gert mcp``."""
    summary = "Serve runbooks to agents over MCP; people keep the say."
    return [Command(name="mcp", summary=summary, target="gert_mcp.command:main")]
