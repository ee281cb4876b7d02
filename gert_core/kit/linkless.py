"""Open a file by a path none of whose parts is a symbolic link, also when somebody exchanges one meanwhile."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_FILE: Final = os.O_RDONLY | os.O_NONBLOCK
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
"""A directory need not be readable to be passed through, where the system can tell the two apart."""


class LinkError(OSError):
    """A part of a path is a symbolic link; ``strerror`` is the sentence about it."""


def open_without_links(path: Path) -> int:
    """Return the descriptor of what is at ``path``; raise ``LinkError`` for a link on the way, or ``OSError``.

    Each directory is opened from the one before it, so that none can become a link after it was looked at. A relative
    path begins in the current directory, however that was reached.
    """
    *folders, name = path.parts or (".",)
    folder = os.open(".", _FOLDER | os.O_CLOEXEC)
    try:
        for number, part in enumerate(folders, 1):
            inner = _opened(part, _FOLDER, folder, path.parts[:number])
            os.close(folder)
            folder = inner
        return _opened(name, _FILE, folder, path.parts)
    finally:
        os.close(folder)


def _opened(name: str, flags: int, folder: int, parts: tuple[str, ...]) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if not _is_link(name, folder):
            raise
        raise LinkError(error.errno, f"{os.path.join(*parts)} is a symbolic link") from None  # noqa: PTH118


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


__all__ = ["LinkError", "open_without_links"]
