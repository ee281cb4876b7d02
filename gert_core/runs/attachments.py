"""Keep files in the directory of a run, under names that are free, without overwriting anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.kit.durable import sync_name
from gert_core.kit.files import UnreadableError
from gert_core.kit.user_files import open_user_file
from gert_core.secrets.scanning import SecretFoundError, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from gert_core.kit.sharing import Sharing
    from gert_core.secrets import Masker

_BLOCK: Final = 1024 * 1024
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SecretInFileError(UnreadableError):
    """A file of a person that has the value of a secret in it: evidence is kept unaltered, or not at all."""


def keep(
    name: str,
    directory: Path,
    parts: Iterable[bytes],
    *,
    is_same: Callable[[Path], bool] = lambda _: False,
    sharing: Sharing | None = None,
) -> str:
    """Write a file under its own name or a numbered one and sync it; what fails leaves nothing.

    Existing files and links are not overwritten; one that ``is_same`` stands for this one. ``sharing`` lets those who
    share the run read it. Return the name.
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
            if sharing is not None:
                sharing.give(fd)
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(fd)
        sync_name(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target.name


def copy_file(source: Path, directory: Path, *, name: str, sharing: Sharing, masker: Masker) -> Path:
    """Copy a file that a person gives, readable for those who share the run; return where it is.

    Raise ``UnreadableError`` for what is not a file of a user or has a secret in it, and ``OSError``.
    """
    with open_user_file(source) as given:
        return directory / keep(name, directory, parts_of(given, source, masker), sharing=sharing)


def parts_of(given: BinaryIO, source: Path, masker: Masker) -> Iterator[bytes]:
    """Yield the content of a file that a person gives; raise ``SecretInFileError`` before any part of a secret."""
    try:
        yield from without_secrets(iter(lambda: given.read(_BLOCK), b""), masker)
    except SecretFoundError as found:
        reason = f"has the value of secret {found.name} in it and is not kept; remove it from the file"
        raise SecretInFileError(source, reason) from None


__all__ = ["SecretInFileError", "copy_file", "keep", "parts_of"]
