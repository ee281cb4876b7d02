"""Keep files in the directory of a run, under names that are free and show no secret."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.kit.durable import sync_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gert_core.secrets import Masker

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HIDDEN: Final = "REDACTED"


def shown_name(path: Path, masker: Masker) -> str:
    """Return the name of a file without secrets.

    It is a name of its own and not a mask, so that it names the same file in the trace, on disk and after a resume.
    """
    name, whole = path.name, str(path)
    if not masker.count:
        return name
    before = len(whole) - len(name)
    # A secret may have a slash: its places are looked for in the whole path.
    places = sorted((max(start, before), end) for start, end in masker.places(whole) if end > before)
    out, done = "", before
    for start, end in places:
        if end > done:
            out += whole[done : max(start, done)] + (_HIDDEN if start >= done else "")
            done = end
    return out + whole[done:]


def keep(
    name: str, directory: Path, parts: Iterable[bytes], *, is_same: Callable[[Path], bool] = lambda _: False
) -> str:
    """Write a file under its own name or a numbered one and sync it; what fails leaves nothing.

    Existing files and links are not overwritten; one that ``is_same`` stands for this one. Return the name.
    """
    number, target, own = 1, directory / name, Path(name)
    while True:
        try:
            fd = os.open(target, _FLAGS, 0o600)
            break
        except FileExistsError:
            if is_same(target):
                return target.name
            number += 1
            target = directory / f"{own.stem}-{number}{own.suffix}"
    try:
        with os.fdopen(fd, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(fd)
        sync_name(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target.name


__all__ = ["keep", "shown_name"]
