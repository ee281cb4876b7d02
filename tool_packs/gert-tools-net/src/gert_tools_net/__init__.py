"""Tools for networks: curl, ping and dig."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``net``."""
    return [
        ToolPack(
            name="net", directory=Path(__file__).parent / "tools", summary="HTTP requests, ICMP echo and DNS lookups."
        )
    ]
