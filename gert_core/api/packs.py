"""Tool packs: directories of ``*.tool.yaml`` shipped as a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPack:
    """Tools usable as ``pack/tool`` or, when unique, by their bare name."""

    name: str
    directory: Path
    summary: str = ""


__all__ = ["ToolPack"]
