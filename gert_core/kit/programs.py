"""Find the file of a program, as starting it with an environment and in a directory does."""

from __future__ import annotations

import os
import stat
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def find_program(program: str, environ: Mapping[str, str], cwd: str | None = None) -> str | None:
    """Return the file that a program is started from with this environment in ``cwd``; ``None`` when there is none.

    It is the only search there is: what it finds is started, and approvals are bound to it. An empty part of PATH,
    which a C library takes for the current directory, is left out.
    """
    return next(filter(_is_file, _executables(program, environ, cwd)), None)


def first_executable(program: str, environ: Mapping[str, str]) -> str | None:
    """Return what ``find_program`` looks at first; when that is started, it was a file, and was what would be found.

    A directory may be executable too, and starting it fails. To start at once saves the look at every program.
    """
    return next(_executables(program, environ, None), None)


def _executables(program: str, environ: Mapping[str, str], cwd: str | None) -> Iterator[str]:
    search = "" if "/" in program else environ.get("PATH", os.defpath)
    return filter(_executable, _paths(program, search, cwd))


_executable: Final = partial(os.access, mode=os.X_OK)


@lru_cache(maxsize=64)
def _paths(program: str, search: str, cwd: str | None) -> tuple[str, ...]:
    """Return where a program is looked for; steps with the same one ask again and again."""
    if "/" in program:
        return (program if cwd is None else os.path.join(cwd, program),)  # noqa: PTH118 - `./x` stays as it is written
    parts = [directory for directory in dict.fromkeys(search.split(":")) if directory]
    return tuple(os.path.join("" if cwd is None else cwd, part, program) for part in parts)  # noqa: PTH118


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - for every program
    except OSError:
        return False


__all__ = ["find_program", "first_executable"]
