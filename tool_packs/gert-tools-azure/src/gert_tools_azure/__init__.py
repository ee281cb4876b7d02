"""Tools for Azure: az."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``azure``."""
    return [
        ToolPack(
            name="azure", directory=Path(__file__).parent / "tools", summary="Virtual machines: list, show, restart."
        )
    ]
