"""Tools for Git repositories, read-only."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``git``."""
    return [
        ToolPack(
            name="git",
            directory=Path(__file__).parent / "tools",
            summary="What a repository holds and where it stands.",
        )
    ]
