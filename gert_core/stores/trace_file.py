"""The trace of a run in a directory: a file of lines, read without following links and written by one process."""

from __future__ import annotations

import os
import stat
from array import array
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError, TraceError
from gert_core.api.store_records import Recovered
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import LINE_LIMIT, MIB, UnreadableError, lines, open_file
from gert_core.trace.reader import is_torn
from gert_core.trace.sinks import FileSink, check_same

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from gert_core.api.context import Deadline
    from gert_core.api.stores import Sink
    from gert_core.kit.owners import Owners
    from gert_core.trace.sinks import FileId

_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_POLL: Final = 0.05
_CHUNK: Final = 64 * 1024


class _Index:
    """Where each complete line begins: eight bytes per line, of the file that was read."""

    __slots__ = ("file", "offsets", "size")

    def __init__(self, file: FileId) -> None:
        self.file = file
        self.offsets = array("Q", [0])
        self.size = 0
        """The size of the file when it was read to its end."""


class TraceFile:
    """The file of one trace."""

    __slots__ = ("_fd", "_fresh", "_index", "_owners", "_seen", "path")

    def __init__(self, path: Path, *, owners: Owners, fresh: bool = False) -> None:
        """Know the file; that of a ``fresh`` run need not be there yet."""
        self.path = path
        self._owners = owners
        self._fresh = fresh
        self._index: _Index | None = None
        self._fd = -1
        self._seen = -1

    def lines(self, since_seq: int = 0) -> Iterator[bytes]:
        """Yield the lines behind a number, and at the end what a crash left of the last write.

        Raise ``FileNotFoundError`` when the file is missing, and ``UnreadableError`` when it is not one to be read.
        """
        try:
            file = open_file(self.path, owners=self._owners)
        except FileNotFoundError:
            if self._fresh:
                return
            raise
        with file:
            index = self._index_of(file)
            begin = min(since_seq, len(index.offsets) - 1)
            offsets = index.offsets if begin == len(index.offsets) - 1 else None
            file.seek(index.offsets[begin])
            found = lines(file, self.path)
            for _ in range(since_seq - begin):
                line = next(found, b"")
                if not line or is_torn(line):
                    return
                if offsets is not None:
                    offsets.append(offsets[-1] + len(line))
            for line in found:
                if offsets is not None:
                    if is_torn(line):
                        offsets = None  # what follows is not of use
                    else:
                        offsets.append(offsets[-1] + len(line))
                yield line
            index.size = os.fstat(file.fileno()).st_size

    def _index_of(self, file: BinaryIO) -> _Index:
        """Return the index of an open file: the one so far, if that is of the same file."""
        info = os.fstat(file.fileno())
        known, here = self._index, (info.st_dev, info.st_ino)
        if known is None or known.file != here or info.st_size < known.offsets[-1]:
            known = self._index = _Index(here)
        return known

    def line(self, seq: int) -> bytes:
        """Return one line by its number; the file is kept open for the next one."""
        index = self._index
        if index is None or seq >= len(index.offsets):
            return next(self.lines(seq - 1), b"")
        if self._fd < 0:
            with open_file(self.path, owners=self._owners) as file:
                self._fd = os.dup(file.fileno())
        begin, end = index.offsets[seq - 1], index.offsets[seq]
        return os.pread(self._fd, end - begin, begin)

    def last_line(self) -> bytes:
        """Return the last complete line; empty when there is none."""
        try:
            with open_file(self.path, owners=self._owners) as file:
                return _last_line(file.fileno())
        except (OSError, UnreadableError):
            return b""

    def sink(self, seq: int) -> Sink:
        """Open the file for writing: a new one, or behind the lines that were read."""
        if not seq:
            return FileSink(self.path)
        known = self._read()
        if len(known.offsets) - 1 != seq:
            raise StoreError(
                f"the trace {self.path} has {len(known.offsets) - 1} lines, not {seq}", kind=ErrorKind.LEASE_LOST
            )
        return FileSink(self.path, append=True, file=known.file)

    @property
    def torn(self) -> int:
        """How many bytes were behind the last complete line when the file was read to its end."""
        return 0 if self._index is None else max(0, self._index.size - self._index.offsets[-1])

    def recover(self, *, aside: Path) -> Recovered:
        """Cut off what a crash left behind the last complete line of the file that was read; keep it in ``aside``."""
        known = self._read()
        seq, size = len(known.offsets) - 1, known.offsets[-1]
        torn = known.size - size if seq else 0
        if torn:
            _cut(self.path, size, known.file, aside=aside)
            known.size = size
        return Recovered(seq=seq, torn=torn)

    def _read(self) -> _Index:
        """Return the index of the whole file, which is read unless it was."""
        if self._index is None or not self._index.size:
            for _ in self.lines():
                pass
        return self._index or _Index((0, 0))

    def wait(self, since_seq: int, deadline: Deadline) -> bool:
        """Return True when the file is longer than it was when ``since_seq`` was its last line."""
        while True:
            try:
                size = os.stat(self.path).st_size  # noqa: PTH116 - called twenty times a second
            except OSError:
                size = -1
            index = self._index
            known = index.offsets[since_seq] if index is not None and since_seq < len(index.offsets) else 0
            if size > known and size != self._seen:  # a torn end is announced once
                self._seen = size
                return True
            if deadline.wait(_POLL):
                return False

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _cut(path: Path, size: int, file: FileId, *, aside: Path) -> None:
    """Cut off a torn write behind the last complete line; what is cut is kept in ``aside``.

    Nothing is cut from another file than the one that was read.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDWR | _FLAGS), "r+b") as trace:
            check_same(trace.fileno(), path, file)
            trace.seek(size)
            _keep(trace, aside)
            trace.truncate(size)
            os.fsync(trace.fileno())
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be recovered: {error.strerror}", file=str(path)) from None


def _keep(torn: BinaryIO, aside: Path) -> None:
    """Append what is torn to a file of its own; raise ``UnreadableError`` when that is somebody's file."""
    try:
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
    except OSError as error:
        raise UnreadableError(aside, f"cannot be written: {error.strerror}") from None
    with os.fdopen(fd, "wb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            raise UnreadableError(aside, "cannot be written: it is not a file of this run alone")
        while part := torn.read(MIB):
            file.write(part)
        file.write(b"\n")
        file.flush()
        os.fsync(fd)
    sync_directory(aside.parent)  # what is cut is lost unless the name of the copy is on disk too


def _last_line(fd: int) -> bytes:
    end = _newline_before(fd, os.fstat(fd).st_size)
    start = _newline_before(fd, end) if end >= 0 else -1
    return os.pread(fd, end - start, start + 1) if 0 <= end - start <= LINE_LIMIT else b""


def _newline_before(fd: int, position: int) -> int:
    """Return where the last newline before ``position`` is; -1 when there is none within the longest line."""
    lowest = max(0, position - LINE_LIMIT)
    while position > lowest:
        size = min(_CHUNK, position - lowest)
        position -= size
        found = os.pread(fd, size, position).rfind(b"\n")
        if found >= 0:
            return position + found
    return -1


__all__ = ["TraceFile"]
