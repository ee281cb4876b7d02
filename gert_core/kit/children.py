"""Keep the programs that a run has started: to end them alone, and in a file for a run that is resumed after a kill.

``gert_core.kit.processes`` does so for everything that is started with it; a plugin has nothing to do.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "children"
"""The name of the file in the run directory; it is there while a run is executed, and after it was killed."""
LINE: Final = 512
"""The bytes of one line."""
_STEP: Final = 300
_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""The clock of start times in ``/proc``; without it no program is kept, because a number alone may be another's."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Children:
    """The programs of one run that are running, one line of fixed length for each.

    A line is written right after its program was started, and written over when another one starts after the program
    has ended. Nothing is synced: a power loss ends the programs too. What cannot be written is left out. Without a
    path nothing is written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._running: set[int] = set()
        self._lock = threading.Lock()
        self._fd = -1
        self._same = ""
        self._free: list[int] = []
        self._lines = 0

    def begin(self, step: str) -> None:
        """Keep what this thread starts from now on as started by a step."""
        _thread.owner = self, step

    def leave(self) -> None:
        """Keep nothing more that this thread starts."""
        _thread.owner = None

    def add(self, pid: int, began: float, step: str) -> int:
        """Write the line of a program and return its number; -1 when it cannot be written."""
        name = encode_basestring_ascii(step)
        if len(name) > _STEP:  # a key is as long as the names in it
            name = encode_basestring_ascii(step[: _STEP // 8])
        with self._lock:
            self._running.add(pid)
            try:
                if self._fd < 0 and not self._open():
                    return -1
                if self._free:
                    line = self._free.pop()
                else:
                    line = self._lines
                    self._lines += 1
                text = f'{{"pid":{pid},"from":{began:.3f},"to":{now():.3f},{self._same}{name}}}'
                os.pwrite(self._fd, text.encode().ljust(LINE - 1) + b"\n", line * LINE)
            except OSError:
                return -1
            return line

    def _open(self) -> bool:
        if self._path is None or _CLOCK is None:
            return False
        with suppress(FileNotFoundError):
            self._path.unlink()  # of an earlier process, or a pipe or another name of somebody's file
        self._fd = os.open(self._path, _FLAGS, 0o600)
        self._same = f'"boot":"{boot_id()}","step":'
        return True

    def remove(self, pid: int, line: int) -> None:
        """Give a line to the next program: the one in it has ended."""
        with self._lock:
            self._running.discard(pid)
            if line >= 0:
                self._free.append(line)

    def kill(self) -> None:
        """Send KILL to the process groups of this run, and to no others."""
        with self._lock:  # what is in the set is not collected yet, so that its number is ours
            for pid in self._running:
                with suppress(ProcessLookupError, PermissionError):  # gone, or (macOS) only a zombie
                    os.killpg(pid, signal.SIGKILL)

    def close(self) -> None:
        """Remove the file if every program has ended."""
        with self._lock, suppress(OSError):
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
                if len(self._free) == self._lines and self._path is not None:
                    self._path.unlink()


class _Thread(threading.local):
    owner: tuple[Children, str] | None = None


_thread: Final = _Thread()


class ChildLine:
    """The line of one program that this thread started; nothing when no run is to be told."""

    __slots__ = ("_children", "_line", "_pid")

    def __init__(self, pid: int, began: float) -> None:
        self._children, self._line, self._pid = None, -1, pid
        if _thread.owner is not None:
            children, step = _thread.owner
            self._children, self._line = children, children.add(pid, began, step)

    def remove(self) -> None:
        """Forget the program: it was collected."""
        if (children := self._children) is not None:
            self._children = None
            children.remove(self._pid, self._line)


def now() -> float:
    """Return the seconds since this machine was started."""
    return time.clock_gettime(_CLOCK) if _CLOCK is not None else 0.0


def boot_id() -> str:
    """Return what tells this start of this machine from others; empty where it is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:  # noqa: PTH123
            return file.read().decode().strip()
    except OSError:
        return ""


__all__ = ["FILE", "LINE", "ChildLine", "Children", "boot_id", "now"]
