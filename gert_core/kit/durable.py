"""Put files and their names on disk: after a power loss a synced file in a directory that was not may be missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def sync_directory(path: Path) -> None:
    """Sync the entries of a directory to disk; raise ``OSError`` when that fails."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    mode: int = 0o600,
    durable: bool = True,
    prepare: Callable[[int], None] | None = None,
) -> None:
    """Replace a file atomically: after a crash it is the old one or the new one; raise ``OSError`` when that fails.

    The directory is left to the caller to sync. ``prepare`` is given the descriptor before anything is written.
    """
    beside = path.with_name(f".~{os.getpid()}.{os.urandom(6).hex()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode != 0o600:
                os.fchmod(descriptor, mode)
            if prepare is not None:
                prepare(descriptor)
            for part in (data,) if isinstance(data, bytes) else data:
                file.write(part)
            file.flush()
            if durable:
                os.fsync(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def sync_name(path: Path) -> None:
    """Sync the directory of a file and the one around it, which may both be new; raise ``OSError`` when that fails."""
    sync_directory(path.parent)
    sync_directory(path.parent.parent)


__all__ = ["replace_file", "sync_directory", "sync_name"]
