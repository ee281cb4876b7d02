"""Policy packs: an organisation's floor, shipped as a plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPack:
    """A policy document (``policy/v0``) as a file or as data; the most restrictive source wins."""

    name: str
    file: Path | None = None
    document: Mapping[str, Any] | None = None


__all__ = ["PolicyPack"]
