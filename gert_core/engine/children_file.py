"""Find the file in which a run keeps its programs: in its directory, or in one of this machine and user.

Runs of a database have no directory. What they start runs on one machine, so its list is kept there: another machine
could not look for these programs anyway. The place does not depend on the environment, which may be another one when
the run is resumed: ``TMPDIR`` counts only where there is no other place.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.kit.children import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import StoredRun

PLACES: Final = ("/tmp", "/var/tmp")  # noqa: S108 - only a directory of this user alone is used in them
"""The directories for temporary files that every process of a machine knows."""


def children_file(run: StoredRun) -> Path | None:
    """Return the file of a run; None where no directory of this user alone can be made for it."""
    if run.path is not None:
        return run.path / FILE
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
        if _is_own(folder) and os.access(folder, os.W_OK):
            return folder / _name(run)
    return None


def children_files(run: StoredRun) -> list[Path]:
    """Return where the file of a run may be that another process kept."""
    if run.path is not None:
        return [run.path / FILE]
    return [folder / _name(run) for folder in _folders() if _is_own(folder)]


def _folders() -> Iterator[Path]:
    """Yield the directories of this user for temporary files, the one that is taken if that is possible first."""
    from tempfile import gettempdir

    for place in PLACES:
        yield Path(place) / f"gert-{os.geteuid()}"
    with suppress(FileNotFoundError):  # of a machine without any place for temporary files
        if (place := gettempdir()) not in PLACES:
            yield Path(place) / f"gert-{os.geteuid()}"


def _is_own(folder: Path) -> bool:
    """Return whether only this user can write a directory; nothing that others put there counts."""
    try:
        info = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077


def _name(run: StoredRun) -> str:
    from hashlib import sha256

    return f"{FILE}-{sha256(run.run_id.encode()).hexdigest()[:32]}"


__all__ = ["PLACES", "children_file", "children_files"]
