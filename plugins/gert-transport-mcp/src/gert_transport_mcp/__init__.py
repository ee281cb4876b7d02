"""The transport ``mcp``: tools behind MCP servers, one connection per tool and run."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Transport


@hookimpl
def gert_transports() -> list[Transport]:
    """Register ``mcp``."""
    return [
        Transport(
            name="mcp",
            open="gert_transport_mcp.session:McpSession",
            starts_program=True,
            summary="Calls the tools of an MCP server: a program that is kept for the whole run, or an address.",
        )
    ]
