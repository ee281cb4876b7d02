"""Tool packs: directories of ``*.tool.yaml`` shipped as a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path


class ToolPack(Struct, frozen=True, kw_only=True):
    """Tools usable as ``pack/tool`` or, when unique, by their bare name."""

    name: str
    directory: Path
    summary: str = ""


__all__ = ["ToolPack"]
