"""Tools for JSON: jq."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``json``."""
    return [ToolPack(name="json", directory=Path(__file__).parent / "tools", summary="Queries over JSON values.")]
