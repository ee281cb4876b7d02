"""The lease of a run in a directory: a lock of the operating system, which ends with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.api.store_records import Lease
from gert_core.kit.files import UnreadableError

if TYPE_CHECKING:
    from gert_core.kit.owners import Owners

_NOFOLLOW: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST: Final = 1024
_NUMBER: Final = r"[1-9][0-9]{0,9}"
_LOCKS: Final = Path("/proc/locks")


class LockFile:
    """The file ``lock`` of a run: line 1 is the process that holds it, line 2 its worker id; both only for messages.

    A process may be sent a signal, so one is told only if the kernel says as well that it has the lock.
    """

    __slots__ = ("_fd", "_lease", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1
        self._lease: Lease | None = None

    @property
    def lease(self) -> Lease | None:
        """The lease that this object holds."""
        return self._lease

    def acquire(self, worker_id: str, owners: Owners) -> Lease | None:
        """Lock the file; None when somebody else has it."""
        if self._lease is not None:
            return self._lease if self._lease.worker_id == worker_id else None
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
        except OSError as error:
            raise RunError(
                f"{self.path.parent} cannot be locked: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY
            ) from None
        try:
            self._check(fd, owners)
            if not _lock(fd):
                os.close(fd)
                return None
            # Who holds it is only for messages; the lock itself works on a full disk too.
            with contextlib.suppress(OSError):
                if os.fstat(fd).st_nlink == 1:  # else another name may be somebody's file
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, f"{os.getpid()}\n{worker_id}\n".encode(), 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd, self._lease = fd, Lease(worker_id=worker_id, process=os.getpid())
        return self._lease

    def release(self, lease: Lease) -> bool:
        """Unlock the file; False when it is not this object that holds it."""
        if self._lease != lease:
            return False
        self._lease = None
        os.close(self._fd)
        self._fd = -1
        return True

    def holder(self, owners: Owners) -> Lease | None:
        """Return the lease of the process that holds the lock; None when none does."""
        if self._lease is not None:
            return self._lease
        try:
            fd = os.open(self.path, os.O_RDONLY | _NOFOLLOW)
        except OSError:
            return None
        try:
            self._check(fd, owners)
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _told(fd)
        except OSError:
            return None
        finally:
            os.close(fd)
        return None

    def _check(self, fd: int, owners: Owners) -> None:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UnreadableError(self.path, "is not a regular file")
        owners.check(fd, self.path)


def _told(fd: int) -> Lease:
    """Return who the file says holds it."""
    process, worker = "", ""
    with contextlib.suppress(OSError):
        process, worker, *_ = [*os.pread(fd, _LONGEST, 0).decode("utf-8", "replace").split("\n"), "", ""]
    return Lease(worker_id=worker, process=int(process) if _has_lock(process, os.fstat(fd).st_ino) else None)


def _has_lock(process: str, inode: int) -> bool:
    """Return whether a process has locked a file; where the kernel does not tell, any number may be one."""
    if re.fullmatch(_NUMBER, process) is None:
        return False
    try:
        told = _LOCKS.read_text("ascii", "replace")
    except OSError:
        return True
    return any(
        words[1:2] == ["FLOCK"] and words[4:5] == [process] and words[5:6] and words[5].endswith(f":{inode}")
        for words in map(str.split, told.splitlines())
    )


def _lock(fd: int) -> bool:
    """Try to lock for a moment; a process that only checks whether the run is locked holds it for microseconds."""
    for pause in (0.005, 0.02, 0.05, 0):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
        except OSError as error:
            raise RunError(f"the run cannot be locked: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY) from None
        else:
            return True
    return False


__all__ = ["LockFile"]
