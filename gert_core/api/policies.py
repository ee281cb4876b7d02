"""Policy packs: an organisation's rules, shipped as a plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class PolicyPack(Struct, frozen=True, kw_only=True):
    """A policy document (``policy/v0``) as a file or as data; the most restrictive source applies."""

    name: str
    file: Path | None = None
    document: Mapping[str, object] | None = None


__all__ = ["PolicyPack"]
