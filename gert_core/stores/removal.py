"""Delete the directory of a run so that after a crash it is there as a whole or not listed at all."""

from __future__ import annotations

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
    """Delete what a process that was killed left of the runs that it was deleting."""
    with suppress(OSError), os.scandir(root) as found:
        for entry in found:
            if entry.name.startswith(_REMOVED) and entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)


__all__ = ["remove_rests", "remove_run"]
