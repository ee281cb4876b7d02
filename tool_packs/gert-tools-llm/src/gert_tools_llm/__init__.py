"""A tool for large language models, reached through a provider program."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import ToolPack


@hookimpl
def gert_tool_packs() -> list[ToolPack]:
    """Register the pack ``llm``."""
    return [
        ToolPack(name="llm", directory=Path(__file__).parent / "tools", summary="Completions from a language model.")
    ]
