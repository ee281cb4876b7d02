"""Tools for Kubernetes clusters: kubectl."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``kubernetes``."""
    return [
        ToolPack(
            name="kubernetes",
            directory=Path(__file__).parent / "tools",
            summary="Looking at pods and workloads, and changing them.",
        )
    ]
