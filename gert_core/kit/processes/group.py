"""One program as the leader of its own process group: signal the group, collect the leader."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.results import StepProblem
from gert_core.kit.children import ChildLine

if TYPE_CHECKING:
    from gert_core.api.context import Deadline

GRACE: Final = 5.0
"""Seconds between TERM and KILL."""
SWEEP: Final = 1.0
"""Seconds between TERM and KILL for background processes of a program that has ended."""

TOGETHER: Final = 0.5
"""Seconds that a cancel of the run may come after the end of a program that the same signal ended."""

_LOST: Final = -1
_STOPPED: Final = frozenset(128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))

# Leaders not waited for yet: state of this operating system process, hence one per process (``kill_all``).
_live: Final[set[int]] = set()


class ProcessGroup:
    """A running program and everything it starts in its process group; one thread at a time uses it."""

    __slots__ = ("_exit", "_kept", "pid", "pidfd", "program")

    def __init__(self, pid: int, program: str, began: float) -> None:
        _live.add(pid)
        self._kept = ChildLine(pid, began)
        self.pid = pid
        self.program = program
        self._exit: int | None = None
        try:
            self.pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not Linux, or no descriptor left: callers ask ``ended``
            self.pidfd = -1

    def ended(self) -> bool:
        """Return whether the leader has ended; where possible it stays a zombie, so that its number stays ours."""
        if self._exit is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True
        except AttributeError:  # macOS before Python 3.13
            return self._reap(os.WNOHANG)

    def signal(self, number: int) -> None:
        """Signal the whole group, but only while its leader is our own uncollected child."""
        if self._exit is None:
            _killpg(self.pid, number)

    def finish(self) -> int:
        """Collect a leader that has ended and end what it left in its group; death by signal N is 128+N."""
        self.signal(signal.SIGTERM)  # to background processes: the leader itself has ended
        self._reap(0)
        # A number is not given out again while a group of that number has members, so right after the leader
        # was collected the group is gone (the usual case, one system call) or is still the one we made.
        if _killpg(self.pid, 0):
            self._sweep()
        if self._exit is None or self._exit == _LOST:
            raise StepProblem(
                ErrorKind.SPAWN,
                f"the exit status of {self.program!r} was collected by another part of this program; "
                "do not ignore SIGCHLD or wait for children that gert has started",
            )
        return self._exit

    def destroy(self) -> None:
        """Send KILL to the group unless it was collected already, and close the descriptor."""
        if self._exit is None:
            self.signal(signal.SIGKILL)
            until = time.monotonic() + SWEEP
            while not self._reap(os.WNOHANG) and time.monotonic() < until:
                time.sleep(0.002)
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    def _reap(self, flags: int) -> bool:
        if self._exit is None:
            try:
                pid, status = os.waitpid(self.pid, flags)
            except ChildProcessError:
                self._exit = _LOST
            else:
                if pid == 0:
                    return False
                code = os.waitstatus_to_exitcode(status)
                self._exit = code if code >= 0 else 128 - code
            _live.discard(self.pid)
            self._kept.remove()
        return True

    def _sweep(self) -> None:
        until = time.monotonic() + SWEEP
        while time.monotonic() < until:
            with suppress(ChildProcessError):  # as process 1 of a container we inherit the group's orphans
                os.waitpid(-self.pid, os.WNOHANG)
            if not _alive(self.pid):
                return
            time.sleep(0.005)
        _killpg(self.pid, signal.SIGKILL)


def _alive(pgid: int) -> bool:
    """Return whether a group has a member that still runs; in many containers dead ones are never collected."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except FileNotFoundError:  # not Linux
        return _killpg(pgid, 0)
    for number in numbers:
        with suppress(OSError), open(f"/proc/{number}/stat", "rb") as file:  # noqa: PTH123
            state, _, group = file.read().rpartition(b")")[2].split()[:3]
            if int(group) == pgid and state not in b"ZX":
                return True
    return False


def stopped_with_run(exit_code: int | None, deadline: Deadline) -> bool:
    """Return whether a program ended because it and the run were stopped together, by a terminal or service manager.

    Its end is often known before the signal that gert was sent has been handled, so this waits a moment for that.
    """
    if exit_code not in _STOPPED:
        return False
    if not deadline.cancelled:
        deadline.wait(TOGETHER)
    return deadline.cancelled


def running() -> int:
    """Return how many groups have not been collected yet."""
    return len(_live)


def kill_all() -> None:
    """Send KILL to every group started here and not yet collected: for a process that is about to end itself."""
    for pid in tuple(_live):
        _killpg(pid, signal.SIGKILL)


def _killpg(pid: int, number: int) -> bool:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # gone, or (macOS) only a zombie
        return False
    return True


__all__ = ["GRACE", "ProcessGroup", "kill_all", "running", "stopped_with_run"]
