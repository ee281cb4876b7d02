"""Keep files with a run, under names that are free, without overwriting anything."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.kit.files import UnreadableError
from gert_core.kit.user_files import open_user_file
from gert_core.secrets.scanning import SecretFoundError, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from gert_core.api.stores import StoredRun
    from gert_core.secrets import Masker

ATTACHMENTS: Final = "attachments"
"""Where the blobs are that steps keep: evidence and artifacts."""
_BLOCK: Final = 1024 * 1024


class SecretInFileError(UnreadableError):
    """A file of a person that has the value of a secret in it: evidence is kept unaltered, or not at all."""


def keep(
    run: StoredRun,
    folder: str,
    name: str,
    parts: Callable[[], Iterable[bytes]],
    *,
    is_same: Callable[[str], bool] = lambda _: False,
) -> str:
    """Write a blob under its own name or a numbered one, durably; what fails leaves nothing.

    What exists is not overwritten; a blob that ``is_same`` stands for this one. Return the name.
    """
    number, chosen, own = 1, name, PurePath(name)
    while True:
        try:
            run.put(f"{folder}/{chosen}", parts(), new=True)
        except StoreError as error:
            if error.kind != ErrorKind.BLOB_EXISTS:
                raise
            if is_same(f"{folder}/{chosen}"):
                return chosen
            number += 1
            chosen = f"{own.stem}-{number}{own.suffix}"
        else:
            return chosen


def copy_file(source: Path, run: StoredRun, folder: str, *, name: str, masker: Masker) -> str:
    """Copy a file that a person gives, readable for those who share the run; return its name.

    Raise ``UnreadableError`` for what is not a file of a user or has a secret in it, and ``OSError``.
    """
    return keep(run, folder, name, lambda: file_parts(source, masker))


def file_parts(source: Path, masker: Masker) -> Iterator[bytes]:
    """Yield the content of a file that a person gives; see ``parts_of``."""
    with open_user_file(source) as given:
        yield from parts_of(given, source, masker)


def parts_of(given: BinaryIO, source: Path, masker: Masker) -> Iterator[bytes]:
    """Yield the content of a file that a person gives; raise ``SecretInFileError`` before any part of a secret."""
    try:
        yield from without_secrets(iter(lambda: given.read(_BLOCK), b""), masker)
    except SecretFoundError as found:
        reason = f"has the value of secret {found.name} in it and is not kept; remove it from the file"
        raise SecretInFileError(source, reason) from None


__all__ = ["ATTACHMENTS", "SecretInFileError", "copy_file", "file_parts", "keep", "parts_of"]
