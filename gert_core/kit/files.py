"""Read files that another process may have written: no link is followed, nothing waited for, and sizes are bounded."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from msgspec import MsgspecError, convert

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.json_reader import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gert_core.kit.owners import Owners

_T = TypeVar("_T")

MIB: Final = 1024 * 1024
"""The unit of limits."""
LINE_LIMIT: Final = 256 * MIB
"""The longest line of a trace, which its writer keeps to as well."""
_PART: Final = MIB
_BLOCK: Final = 4096
_SMALL: Final = 64 * MIB
_SHARED: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FLAGS: Final = _SHARED | os.O_NOFOLLOW


class UnreadableError(RunError):
    """A file that cannot be read, or that does not hold what belongs there; ``file`` is its path.

    ``hidden`` says that the system did not let it be read now, so that it may be what belongs there.
    """

    default_kind = ErrorKind.RUN_DIRECTORY

    def __init__(self, path: Path | str, reason: str, *, kind: str | None = None, hidden: bool = False) -> None:
        super().__init__(f"{path} {reason}", kind=kind, file=str(path))
        self.hidden = hidden


def open_file(
    path: Path, *, limit: int | None = None, owners: Owners | None = None, opened: Callable[[Path], int] | None = None
) -> BinaryIO:
    """Open a regular file of at most ``limit`` bytes, of one of ``owners`` if they are given.

    Raise ``FileNotFoundError`` when there is none, and ``UnreadableError`` when it is a link, a pipe, a device or a
    directory, is larger, is somebody else's, or cannot be opened. ``opened`` opens the path in another way.
    """
    descriptor = _open(path) if opened is None else opened(path)
    try:
        _checked(descriptor, path, limit, owners)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _checked(descriptor: int, path: Path, limit: int | None, owners: Owners | None) -> os.stat_result:
    """Return what is known about an open file; raise ``UnreadableError`` as ``open_file`` does."""
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        raise UnreadableError(path, "is not a regular file")
    if limit is not None and info.st_size > limit:
        raise _too_large(path, limit)
    if owners is not None:
        owners.check(descriptor, path)
    return info


def open_named(path: Path) -> BinaryIO:
    """Open a file that a person named, which may be a link or a pipe; a pipe without a writer is empty.

    Raise ``OSError`` as ``open`` does.
    """
    descriptor = os.open(path, _SHARED)
    try:
        _named(descriptor, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_named(path: Path, *, most: int) -> bytes:
    """Return the first ``most`` bytes of a file that a person named; otherwise as ``open_named``."""
    descriptor = os.open(path, _SHARED)
    try:
        return _read(descriptor, _named(descriptor, path), most)
    finally:
        os.close(descriptor)


def _named(descriptor: int, path: Path) -> int:
    """Return the size of an open file; reading a pipe or a device waits from now on."""
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        os.set_blocking(descriptor, True)
    return info.st_size


def write_named(path: Path, data: bytes) -> None:
    """Write a file that a person named, which may be a link or a pipe; a pipe without a reader is not waited for.

    Raise ``OSError`` as ``open`` does.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        os.set_blocking(descriptor, True)
        file.write(data)


def is_text(name: str) -> bool:
    """Return whether a name that the file system gave can be written: one with bytes that are not UTF-8 cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_file(path: Path, *, limit: int, owners: Owners | None = None) -> bytes | None:
    """Return the bytes of a regular file, ``None`` when there is none; see ``open_file``."""
    found = read_file_info(path, limit=limit, owners=owners)
    return None if found is None else found[0]


def read_file_info(path: Path, *, limit: int, owners: Owners | None = None) -> tuple[bytes, os.stat_result] | None:
    """Return the bytes of a regular file and what is known about it, ``None`` when there is none; see ``open_file``."""
    try:
        descriptor = _open(path)
        try:
            info = _checked(descriptor, path, limit, owners)
            data = _read(descriptor, info.st_size, limit + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(path, f"cannot be read: {error.strerror}", hidden=True) from None
    if len(data) > limit:  # it grew meanwhile
        raise _too_large(path, limit)
    return data, info


def _read(descriptor: int, size: int, most: int) -> bytes:
    """Return what an open file has, which had this size; at most so many bytes."""
    parts = []
    while most > 0 and (part := os.read(descriptor, min(most, max(size + 1, _BLOCK)))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def read_record(path: Path, kind: type[_T], *, limit: int = MIB) -> _T | None:
    """Return the JSON of a file as a record (or another type), ``None`` when there is no file.

    Raise ``UnreadableError`` when the file cannot be read, or when a field is missing or has another type.
    """
    data = read_file(path, limit=limit)
    return None if data is None else decode_record(data, kind, path=path)


def decode_record(data: bytes, kind: type[_T], *, path: Path | str) -> _T:
    """Return JSON that was read from a file as a record (or another type); see ``read_record``."""
    try:
        return convert(loads(data), kind)
    except (ValueError, MsgspecError, RecursionError) as error:
        raise UnreadableError(path, f"is damaged: {error}") from None


def list_names(path: Path) -> list[str]:
    """Return the sorted names in a directory, none when there is no directory; a link is not followed."""
    try:
        descriptor = _open(path, os.O_DIRECTORY)
    except FileNotFoundError:
        return []
    try:
        return sorted(os.listdir(descriptor))  # noqa: PTH208 - of the directory that was opened
    except OSError as error:
        raise UnreadableError(path, f"cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)


def lines(file: BinaryIO, path: Path, *, limit: int = LINE_LIMIT) -> Iterator[bytes]:
    """Return the lines of a file with their newlines; raise ``UnreadableError`` for one of more than ``limit`` bytes.

    Zeros, as a crash leaves them, end a part of a line that is too long for one read; holes of a sparse file are left
    out.
    """
    info = os.fstat(file.fileno())
    if stat.S_ISREG(info.st_mode) and info.st_size <= min(limit, _SMALL):
        return iter(file)  # twice as fast, and no line can be too long
    return _bounded_lines(file, path, limit)


def _bounded_lines(file: BinaryIO, path: Path, limit: int) -> Iterator[bytes]:
    while line := file.readline(_PART):
        yield line if line[-1] == 10 or len(line) < _PART else _long_line(file, line, path=path, limit=limit)


def _long_line(file: BinaryIO, part: bytes, *, path: Path, limit: int) -> bytes:
    parts = [part]
    size = len(part)
    while part and part[-1] != 10:
        if part[-1] == 0:
            _skip_hole(file)
            break
        part = file.readline(_PART)
        parts.append(part)
        size += len(part)
        if size > limit:
            raise UnreadableError(path, f"has a line of more than {limit // MIB} MiB")
    return b"".join(parts)


def _skip_hole(file: BinaryIO) -> None:
    """Go on behind zeros that take no space, which may be terabytes; where holes are not known they are read."""
    with suppress(OSError, AttributeError):
        position = file.tell()
        try:
            position = os.lseek(file.fileno(), position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but zeros follows
                position = os.fstat(file.fileno()).st_size
        file.seek(position)


def _open(path: Path, flags: int = 0) -> int:
    try:
        return os.open(path, _FLAGS | flags)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason, hidden = getattr(error, "strerror", None) or str(error), True
        if getattr(error, "errno", None) in (errno.ELOOP, errno.ENOTDIR) and os.path.islink(path):  # noqa: PTH114 - never raises
            reason, hidden = "it is a symbolic link", False
        raise UnreadableError(path, f"cannot be read: {reason}", hidden=hidden) from None


def _too_large(path: Path, limit: int) -> UnreadableError:
    return UnreadableError(path, f"is larger than {limit // MIB} MiB")


__all__ = [
    "LINE_LIMIT",
    "MIB",
    "UnreadableError",
    "decode_record",
    "is_text",
    "lines",
    "list_names",
    "open_file",
    "open_named",
    "read_file",
    "read_file_info",
    "read_named",
    "read_record",
    "write_named",
]
