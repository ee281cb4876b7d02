"""Copy files that people give into the directory of a run, under names of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.kit.durable import sync_name
from gert_core.kit.user_files import open_user_file

if TYPE_CHECKING:
    from gert_core.kit.sharing import Sharing

_BLOCK: Final = 1024 * 1024
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_file(source: Path, directory: Path, *, name: str, sharing: Sharing) -> Path:
    """Copy a file under a name or a numbered one, readable for those who share the run, and sync it.

    Existing files and links are not overwritten, and what fails leaves nothing. Return where it is. Raise
    ``UnreadableError`` for what is not a file of a user, and ``OSError``.
    """
    with open_user_file(source) as given:
        target, fd = _create(Path(name), directory)
        try:
            with os.fdopen(fd, "wb") as kept:
                sharing.give(fd)
                while block := given.read(_BLOCK):
                    kept.write(block)
                kept.flush()
                os.fsync(fd)
            sync_name(target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    return target


def _create(named: Path, directory: Path) -> tuple[Path, int]:
    """Create a file of a name that is free; return it with its descriptor."""
    number, target = 1, named.name
    while True:
        try:
            return directory / target, os.open(directory / target, _FLAGS, 0o600)
        except FileExistsError:
            number += 1
            target = f"{named.stem}-{number}{named.suffix}"


__all__ = ["copy_file"]
