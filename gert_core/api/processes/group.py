"""One program as the leader of its own process group: spawn it, signal the group, reap it."""

from __future__ import annotations

import errno
import functools
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.results import StepProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GRACE: Final = 5.0
"""Seconds between TERM and KILL."""
SWEEP: Final = 1.0
"""Seconds between TERM and KILL for background processes of a program that has ended."""

# Python ignores these; an ignored signal would stay ignored in the child. CHLD may be ignored by whoever started us.
_DEFAULTS: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)

# Leaders not reaped yet. A fact about this operating system process, hence one per process: see ``kill_all``.
_live: Final[set[int]] = set()


class Group:
    """A running program and everything it starts in its process group."""

    __slots__ = ("_exit", "_lock", "pid", "pidfd", "program")

    def __init__(self, pid: int, program: str) -> None:
        self.pid = pid
        self.program = program
        self._exit: int | None = None
        self._lock = threading.Lock()
        try:
            self.pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, or no descriptor left: callers poll ``ended``
            self.pidfd = -1

    def ended(self) -> bool:
        """Whether the leader has ended; where the system allows, it stays a zombie so that its number stays ours."""
        if self._exit is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True
        except AttributeError:  # macOS before Python 3.13
            return self._reap(os.WNOHANG)

    def signal(self, number: int) -> None:
        """Signal the whole group, but only while its leader is our own unreaped child."""
        with self._lock:
            if self._exit is None:
                _killpg(self.pid, number)

    def finish(self) -> int:
        """Collect a leader that has ended and end what it left in its group; the exit status as shells say it."""
        self.signal(signal.SIGTERM)  # to background processes: the leader itself is past caring
        self._reap(0)
        self._sweep()
        if self._exit is None or self._exit == _LOST:
            raise StepProblem(
                "spawn",
                f"the exit status of {self.program!r} was taken by another part of this program; "
                "do not ignore SIGCHLD or wait for children gert has started",
            )
        return self._exit

    def destroy(self) -> None:
        """Leave nothing: KILL the group unless it was collected already, and give the descriptor back."""
        if self._exit is None:
            self.signal(signal.SIGKILL)
            until = time.monotonic() + SWEEP
            while not self._reap(os.WNOHANG) and time.monotonic() < until:
                time.sleep(0.002)
        pidfd, self.pidfd = self.pidfd, -1
        if pidfd >= 0:
            os.close(pidfd)

    def _reap(self, flags: int) -> bool:
        with self._lock:
            if self._exit is not None:
                return True
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
            return True

    def _sweep(self) -> None:
        # A process number is not given out again while a group of that number has members, so right after the leader
        # was collected the group either is gone (the usual case, one system call) or is still the one we made.
        if not _killpg(self.pid, 0):
            return
        until = time.monotonic() + SWEEP
        while time.monotonic() < until:
            try:  # as process 1 of a container we inherit the group's orphans
                os.waitpid(-self.pid, os.WNOHANG)
            except ChildProcessError:
                pass
            if not _killpg(self.pid, 0):
                return
            time.sleep(0.005)
        _killpg(self.pid, signal.SIGKILL)


_LOST: Final = -1


def spawn(
    argv: Sequence[str], *, environ: Mapping[str, str], stdin: int | None, stdout: int, stderr: int
) -> Group:
    """Start ``argv`` with these descriptors (``stdin`` None: empty), looked up on the PATH of ``environ``.

    ``posix_spawn`` costs less than ``subprocess.Popen`` by about the price of both output pipes.
    """
    if not argv or not argv[0]:
        raise StepProblem("spawn", "there is no program to run: the command is empty; give argv or meta.binary")
    program = argv[0]
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0) if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_DUP2, stderr, 2),
        *_foreign_descriptors(),
    ]
    problem: OSError | None = None
    try:
        for path in _candidates(program, environ):
            try:
                pid = os.posix_spawn(
                    path, argv, environ, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=_DEFAULTS
                )
            except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
                problem = error  # like execvp, go on along the PATH
            else:
                _live.add(pid)
                return Group(pid, program)
    except OSError as error:
        problem = error
    except ValueError as error:  # a NUL byte, a text that has no bytes
        raise StepProblem("spawn", f"{program!r} cannot be started with these arguments: {error}") from None
    raise _not_started(program, argv, problem)


def pipe() -> tuple[int, int]:
    """A pipe whose ends never stand where a child's standard streams go."""
    read, write = os.pipe()
    if read > 2 and write > 2:
        return read, write
    import fcntl

    try:
        return fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(write, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(read)
        os.close(write)


def kill_all() -> None:
    """KILL every group started here and not yet collected: for a process that is about to die itself."""
    for pid in tuple(_live):
        _killpg(pid, signal.SIGKILL)


def _killpg(pid: int, number: int) -> bool:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # gone; or (macOS) only a zombie, or no longer ours to signal
        return False
    return True


def _candidates(program: str, environ: Mapping[str, str]) -> Iterator[str]:
    if "/" in program:
        yield program
        return
    for directory in environ.get("PATH", os.defpath).split(":"):
        path = f"{directory}/{program}"
        # An empty entry would mean the current directory; a tool never comes from there by accident.
        if directory and os.access(path, os.X_OK):
            yield path


@functools.cache
def _foreign_descriptors() -> tuple[tuple[Any, ...], ...]:
    """Close what whoever started us left open: Python's own descriptors do not reach children anyway."""
    close_from = getattr(os, "POSIX_SPAWN_CLOSEFROM", None)
    if close_from is not None:
        return ((close_from, 3),)
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return ()
    return tuple((os.POSIX_SPAWN_CLOSE, fd) for fd in numbers if fd > 2 and _inheritable(fd))


def _inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # the descriptor of the listing itself
        return False


def _not_started(program: str, argv: Sequence[str], problem: OSError | None) -> StepProblem:
    number = problem.errno if problem else errno.ENOENT
    if number in (errno.ENOENT, errno.ENOTDIR):
        if problem and problem.filename and os.path.exists(problem.filename):
            text = f"{problem.filename!r} names an interpreter in its first line that does not exist"
            return StepProblem("spawn", f"{text}; correct the line that begins with '#!'")
        if "/" in program:
            text = f"program {program!r} does not exist"
            hint = "a path is relative to the directory gert was started in" if program[0] != "/" else "check the path"
        else:
            text, hint = f"program {program!r} was not found on PATH", "install it, or set meta.binary of the tool"
        return StepProblem("not_found", f"{text}; {hint}")
    if number == errno.EACCES:
        return StepProblem("spawn", f"{program!r} is not an executable file; check its permissions (chmod +x)")
    if number == errno.ENOEXEC:
        return StepProblem("spawn", f"{program!r} is no program this system can run; a script needs a '#!' line")
    if number == errno.E2BIG:
        size = sum(len(os.fsencode(word)) + 1 for word in argv)
        return StepProblem(
            "spawn", f"the arguments of {program!r} are too long ({size} bytes); pass large data through stdin"
        )
    return StepProblem("spawn", f"{program!r} could not be started: {os.strerror(number or 0)}")


__all__ = ["GRACE", "Group", "kill_all", "pipe", "spawn"]
