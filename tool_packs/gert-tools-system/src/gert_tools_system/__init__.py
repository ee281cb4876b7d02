"""Tools for the machine at hand: systemctl, journalctl, df and ps."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``system``."""
    return [
        ToolPack(
            name="system",
            directory=Path(__file__).parent / "tools",
            summary="Services, logs, disk space and processes.",
        )
    ]
