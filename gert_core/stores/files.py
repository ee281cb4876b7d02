"""Blobs of a run in a directory: private files that appear as a whole, below directories that are not links."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.api.store_records import BLOB_LIMIT, Blob, BlobInfo
from gert_core.kit.blob_names import BEING_WRITTEN, check_blob_name
from gert_core.kit.durable import replace_file, sync_directory, sync_name
from gert_core.kit.files import UnreadableError, list_names, read_file_info
from gert_core.kit.sharing import Sharing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from gert_core.kit.owners import Owners

_APPEND: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BY_OTHERS: Final = frozenset({"answers", "control", "uploads"})
"""Directories that those make who answer or cancel, as well as the run: the users who share the run share them."""
_FILES: Final = (".json", ".log")
"""How the names of blobs end that something is read from: a directory in the place of one is named, as unreadable."""
_NOT_BLOBS: Final = frozenset({"trace.jsonl", "lock", "children"})


class Files:
    """The blobs of one run's directory."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str, owners: Owners, *, limit: int = BLOB_LIMIT) -> Blob | None:
        """Return a blob, ``None`` when there is none; raise ``UnreadableError``.

        Files of the directory itself must be those of its owners; what others share is below.
        """
        path = self._place(name)
        found = read_file_info(path, limit=limit, owners=owners if path.parent == self.path else None)
        if found is None:
            return None
        data, info = found
        return Blob(data=data, written=_time(info.st_ctime), uid=info.st_uid, links=info.st_nlink)

    def info(self, name: str) -> BlobInfo | None:
        """Return size and time of a blob, ``None`` when there is none."""
        try:
            info = self._place(name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return BlobInfo(size=info.st_size, written=_time(info.st_mtime, "microseconds"))

    def write(self, name: str, data: bytes | Iterable[bytes], *, new: bool = False, durable: bool = True) -> None:
        """Write a blob as a whole; with ``new`` only where there is none."""
        path = self._place(name)
        try:
            sharing = self._directories(path)
            prepare = None if sharing is None else sharing.give
            if not new:
                replace_file(path, data, durable=durable, prepare=prepare)
            else:
                with _alone(path):
                    if os.path.lexists(path):
                        raise StoreError(f"{path} exists already", kind=ErrorKind.BLOB_EXISTS, file=str(path))
                    replace_file(path, data, durable=durable, prepare=prepare)
            if durable:
                if sharing is None:
                    sync_directory(self.path)
                else:
                    sync_name(path)
        except StoreError:
            raise
        except OSError as error:
            raise _unwritten(path, error) from None

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a blob, which is not synced."""
        path = self._place(name)
        try:
            self._directories(path)
            fd = os.open(path, _APPEND, 0o600)
            try:
                while data:
                    data = data[os.write(fd, data) :]
            finally:
                os.close(fd)
        except OSError as error:
            raise _unwritten(path, error) from None

    def names(self, prefix: str) -> list[str]:
        """Return the sorted names that begin with ``prefix``, without files that are being written."""
        folder = prefix.rpartition("/")[0]
        if folder:
            check_blob_name(folder)
        return sorted(
            name for name in self._below(self.path / folder, f"{folder}/" if folder else "") if name.startswith(prefix)
        )

    def delete(self, name: str) -> bool:
        """Delete a blob; return False when there was none."""
        path = self._place(name)
        try:
            path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(
                f"{path} cannot be deleted: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY, file=str(path)
            ) from None
        return True

    def _place(self, name: str) -> Path:
        """Return where a blob is; raise ``UnreadableError`` when a directory on the way is a link."""
        check_blob_name(name)
        folder = self.path
        for part in name.split("/")[:-1]:
            folder /= part
            if os.path.islink(folder):  # noqa: PTH114 - a directory that cannot be reached is named by its reader
                raise UnreadableError(folder, "is a symbolic link; what belongs to a run is not kept behind links")
        return self.path / name

    def _directories(self, path: Path) -> Sharing | None:
        """Make the directories of a blob; return who shares them, None for a blob of the run's directory itself."""
        above = path.relative_to(self.path).parts[:-1]
        if not above:
            return None
        folder = self.path / above[0]
        if above[0] in _BY_OTHERS:
            Sharing.of(self.path).make_directory(folder)
        else:
            folder.mkdir(mode=0o700, exist_ok=True)
        sharing = Sharing.of(folder)
        for part in above[1:]:
            folder /= part
            sharing.make_directory(folder)
        return sharing

    def _below(self, folder: Path, prefix: str) -> Iterator[str]:
        for name in list_names(folder):
            if name.startswith(BEING_WRITTEN) or (not prefix and name in _NOT_BLOBS):
                continue
            path = folder / name
            if not name.endswith(_FILES) and path.is_dir() and not path.is_symlink():
                yield from self._below(path, f"{prefix}{name}/")
            else:
                yield prefix + name


def _time(seconds: float, precision: str = "milliseconds") -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time create a file in a directory; where directories cannot be locked, by its name alone."""
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _unwritten(path: Path, error: OSError) -> RunError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return StoreError(
        f"{path} cannot be written: {error.strerror}",
        kind=ErrorKind.RUN_DIRECTORY,
        hint="free disk space and try again" if full else None,
        reason=error.strerror,
    )


__all__ = ["Files"]
