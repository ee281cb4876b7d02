"""Delete the directory of a run so that after a crash it is there as a whole or not listed at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.kit.durable import sync_directory

if TYPE_CHECKING:
    from pathlib import Path

_REMOVED: Final = ".removed-"
"""What the names of directories begin with that are being deleted; no run can have such a name."""
IMPORTED: Final = ".imported-"
"""What the names of directories begin with that runs of other stores are being written to."""


def remove_run(path: Path) -> None:
    """Delete a run's directory; raise ``StoreError`` when that is impossible."""
    away = path.parent / f"{_REMOVED}{path.name}-{os.urandom(4).hex()}"
    try:
        path.rename(away)
        sync_directory(path.parent)
        shutil.rmtree(away)
    except OSError as error:
        raise StoreError(
            f"the run directory {path} cannot be deleted: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY
        ) from None


def remove_rests(root: Path) -> None:
    """Delete what a killed process of this user left of runs that it was deleting, or writing from another store."""
    with suppress(OSError), os.scandir(root) as found:
        for entry in found:
            if not entry.name.startswith((_REMOVED, IMPORTED)) or not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid():  # root deletes nothing of other users
                _remove_rest(entry.path)


def _remove_rest(path: str) -> None:
    """Delete a directory unless another process has locked it, which is still writing it."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(descriptor)


__all__ = ["IMPORTED", "remove_rests", "remove_run"]
