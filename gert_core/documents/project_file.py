"""Find the project file without reading it; something of that name that cannot be read is never passed over."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import ProjectError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE_NAME: Final = "gert-project.yaml"
_OTHER_NAME: Final = "gert-project.yml"
_HINT: Final = "the project's policies and plugins cannot be known without it; put the file back, or remove it"


class ProjectFileError(ProjectError):
    """Something has the name of the project file and cannot be read, so that no command can know the project."""


def project_file(directories: Iterable[Path]) -> Path | None:
    """Return the first project file in these directories; raise ``ProjectFileError`` for one that is not a file."""
    for directory in directories:
        if _is_there(file := directory / FILE_NAME):
            return file
        if os.path.lexists(other := directory / _OTHER_NAME):
            # Its author believes that it applies.
            hint = f"rename it to {FILE_NAME}: its policies and plugins do not apply under another name"
            raise ProjectFileError(f"{other} is not read: a project file is called {FILE_NAME}", hint=hint)
    return None


def _is_there(file: Path) -> bool:
    """Return whether anything has this name; whatever has it must be a regular file that can be read."""
    try:
        link = stat.S_ISLNK(os.lstat(file).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        message = f"cannot find out whether {file} exists: {error.strerror}"
        raise ProjectFileError(message, hint="work in a directory that this user can read") from None
    try:
        mode = file.stat().st_mode
    except OSError as error:
        what = "is a link that leads nowhere" if link else "cannot be read"
        raise ProjectFileError(f"{file} {what}: {error.strerror}", file=str(file), hint=_HINT) from None
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
        raise ProjectFileError(f"{file} is {what}, not a file", file=str(file), hint=_HINT)
    if not os.access(file, os.R_OK):
        raise ProjectFileError(f"{file} cannot be read by this user", file=str(file), hint=_HINT)
    return True


__all__ = ["FILE_NAME", "ProjectFileError", "project_file"]
