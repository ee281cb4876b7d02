"""Find the file of a program, as starting it with an environment and in a directory would."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def look_up(program: str, environ: Mapping[str, str], cwd: str | None = None) -> str | None:
    """Return the path that a program would be started from; a path is not looked for, a name is not found or is."""
    if "/" in program:
        return program if cwd is None else os.path.join(cwd, program)  # noqa: PTH118 - `./x` stays as it is written
    for directory in environ.get("PATH", os.defpath).split(":"):
        path = f"{directory}/{program}" if cwd is None else os.path.join(cwd, directory, program)  # noqa: PTH118
        if directory and os.access(path, os.X_OK):
            return path
    return None


def find_program(program: str, environ: Mapping[str, str], cwd: str | None = None) -> str | None:
    """Return the executable file that a program would be started from in ``cwd``; ``None`` when there is none."""
    path = look_up(program, environ, cwd)
    if path is not None and os.access(path, os.X_OK):
        return path
    import shutil

    return None if cwd is not None and "/" in program else shutil.which(program, path=environ.get("PATH"))


__all__ = ["find_program"]
