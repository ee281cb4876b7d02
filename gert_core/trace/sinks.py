"""Sinks for the lines of a trace: a file, and one that discards them."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from os.path import samestat
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import TraceError
from gert_core.api.stores import Sink
from gert_core.kit.durable import sync_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_fdatasync: Final = getattr(os, "fdatasync", os.fsync)
FileId = tuple[int, int]
"""Device and number of a file, which stay the same when it is renamed."""


class FileSink(Sink):
    """A file of one run, locked against a second writer; one fdatasync serves every thread that waits for it."""

    def __init__(self, path: Path, *, append: bool = False, file: FileId | None = None) -> None:
        """Open a new trace, or with ``append`` one to continue: ``file``, if that is given, and no other one."""
        self.path = path
        self.place = str(path)
        self._disk = threading.Lock()
        self._fd, info = _open(path, append=append, file=file)
        self._synced = self._size = info.st_size
        self._linked = info.st_nlink > 0
        """Whether the file system counts the names of a file."""

    def write(self, lines: Sequence[bytes], last: int) -> None:
        """Write a group, with one call to the operating system unless that writes only a part."""
        group = b"\n".join((*lines, b""))
        written, size = 0, len(group)
        try:
            written = os.write(self._fd, group)
            while written < size:
                written += os.write(self._fd, group[written:])
        except OSError:
            # Keep the complete lines that were written; half a line would be a torn end.
            whole = group.rfind(b"\n", 0, written) + 1
            try:
                os.ftruncate(self._fd, self._size + whole)
                self._size += whole
            except OSError:
                self._size += written
            raise
        self._size += written
        if self.on_stored is not None:
            self.on_stored(last)

    def sync(self) -> None:
        """Sync what was written to disk, unless another thread has done so meanwhile; refuse a deleted file."""
        target = self._size
        if self._synced >= target:
            return
        with self._disk:
            if self._synced >= target:
                return
            covered = self._size
            _fdatasync(self._fd)
            if self._linked and not os.fstat(self._fd).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "the file was deleted", str(self.path))
            self._synced = covered

    def confirm(self) -> None:
        """Raise ``FileNotFoundError`` when the path leads to no file or to another one."""
        if not samestat(self.path.stat(), os.fstat(self._fd)):
            raise FileNotFoundError(errno.ENOENT, "another file is in its place", str(self.path))

    def close(self) -> None:
        """Close the file, which also releases its lock."""
        with self._disk:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1


class NullSink(Sink):
    """A sink that discards everything, for runs whose trace is not needed: replays of ``gert test``."""

    place = os.devnull

    def write(self, lines: Sequence[bytes], last: int) -> None:
        """Discard the lines."""
        if self.on_stored is not None:
            self.on_stored(last)

    def sync(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _lock(fd: int) -> None:
    """Lock the file against a second writer; a file system without locks does not prevent the run."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


def check_same(descriptor: int, path: Path, file: FileId | None) -> None:
    """Raise ``TraceError`` when an open trace is not the file that was read."""
    info = os.fstat(descriptor)
    if file is not None and (info.st_dev, info.st_ino) != file:
        raise TraceError(
            f"the trace {path} was replaced by another file while the run was being resumed; nothing was written",
            file=str(path),
            hint="put the trace back, then resume the run",
        )


def _open(path: Path, *, append: bool, file: FileId | None) -> tuple[int, os.stat_result]:
    """Open the file for one writer and make sure that its name survives a power loss; return descriptor and facts."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_NOFOLLOW if append else os.O_CREAT)
    try:
        fd = os.open(path, flags | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise TraceError(
            f"the trace {path} cannot be opened: {error.strerror}",
            file=str(path),
            hint="give a file in an existing, writable directory",
        ) from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise TraceError(f"the trace {path} is not a regular file", hint="give the path of a new file")
        check_same(fd, path, file)
        try:
            _lock(fd)
        except BlockingIOError:
            raise TraceError(
                f"the trace {path} is being written by another run", hint="wait for it, or give another file"
            ) from None
        if info.st_size and not append:
            raise TraceError(f"the trace {path} contains an earlier run", hint="give a new file, or move the old one")
        if not append:
            sync_directory(path.parent)
    except BaseException as error:
        os.close(fd)
        if isinstance(error, OSError):
            raise TraceError(f"the trace {path} cannot be prepared: {error.strerror}") from None
        raise
    return fd, info


__all__ = ["FileId", "FileSink", "NullSink", "check_same"]
