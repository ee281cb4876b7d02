"""Find the file in which a run keeps its programs: in its directory, or in one of this machine and user.

Runs of a database have no directory. What they start runs on one machine, so its list is kept there: another machine
could not look for these programs anyway.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from gert_core.kit.children import FILE

if TYPE_CHECKING:
    from gert_core.api import StoredRun


def children_file(run: StoredRun) -> Path | None:
    """Return the file of a run; None where no directory of this user alone can be made for it."""
    if run.path is not None:
        return run.path / FILE
    from hashlib import sha256

    folder = _folder()
    return None if folder is None else folder / f"{FILE}-{sha256(run.run_id.encode()).hexdigest()[:32]}"


def _folder() -> Path | None:
    """Return a directory for temporary files that only this user can write; nothing that others put there counts."""
    from tempfile import gettempdir

    folder = Path(gettempdir()) / f"gert-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        info = folder.lstat()
    except OSError:
        return None
    own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
    return folder if own else None


__all__ = ["children_file"]
