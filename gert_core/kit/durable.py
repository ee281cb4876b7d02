"""Put the name of a file on disk: after a power loss a synced file whose directory was not synced may be missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sync_directory(path: Path) -> None:
    """Sync the entries of a directory to disk; raise ``OSError`` when that fails."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_name(path: Path) -> None:
    """Sync the directory of a file and the one around it, which may both be new; raise ``OSError`` when that fails."""
    sync_directory(path.parent)
    sync_directory(path.parent.parent)


__all__ = ["sync_directory", "sync_name"]
