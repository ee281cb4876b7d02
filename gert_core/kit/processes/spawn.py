"""Start a program with given descriptors, found on the PATH it is going to have, without a shell."""

from __future__ import annotations

import errno
import functools
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.results import StepProblem
from gert_core.kit.children import now
from gert_core.kit.processes.group import ProcessGroup, running
from gert_core.kit.programs import find_program, first_executable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def spawn(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    stdin: int | None,
    stdout: int,
    stderr: int,
    cwd: str | None = None,
) -> ProcessGroup:
    """Start ``argv`` with these descriptors (``stdin`` None: empty) as the leader of a new session and process group.

    ``cwd`` is the directory it starts in; None is gert's own.

    A session of its own has no terminal: the program can neither read what a person types at ours nor push input into
    it, and a terminal's signals reach only us.
    Measured in ``true`` steps: ``posix_spawn`` takes a tenth less than ``Popen`` when it is alone, but a tenth more
    when a hundred start at once from threads. So it is tried when nothing else runs; ``Popen`` does the rest and
    reports errors.
    """
    if not argv or not argv[0]:
        message = "there is no program to run: the command is empty; give argv or meta.binary"
        raise StepProblem(ErrorKind.SPAWN, message, acted=False)
    began = now()
    try:
        if cwd is None and not running():
            path = first_executable(argv[0], environ)
            if path is not None and (pid := _spawn_alone(path, argv, environ, stdin, stdout, stderr)) is not None:
                return ProcessGroup(pid, argv[0], began)
        path = find_program(argv[0], environ, cwd)
    except ValueError as error:
        raise _unusable(argv, error) from None
    if path is None:
        raise _not_found(argv[0], cwd)
    import subprocess

    try:
        process = subprocess.Popen(
            argv,
            executable=path,
            env=environ,
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout,
            stderr=stderr,
            # Descriptors made by Python close themselves. To have the child look for others takes as long as starting
            # it, once hundreds are open, and blocks everything else here meanwhile.
            close_fds=bool(_close_inherited()),
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(argv, path, error, cwd) from None
    except ValueError as error:
        raise _unusable(argv, error) from None
    process.returncode = 0  # the group collects it; Popen must neither wait for it nor warn about it
    return ProcessGroup(process.pid, argv[0], began)


# Python ignores the first two and the program that started us may ignore the third; a child would inherit that.
_DEFAULTS: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


def _spawn_alone(
    path: str, argv: Sequence[str], environ: Mapping[str, str], stdin: int | None, stdout: int, stderr: int
) -> int | None:
    source = _empty_input() if stdin is None else stdin
    if min(source, stdout, stderr) < 3:  # not where the child's own go
        return None
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_DUP2, source, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_DUP2, stderr, 2),
        *_close_inherited(),
    ]
    try:
        return os.posix_spawn(
            path, tuple(argv), environ, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_DEFAULTS
        )
    except (OSError, ValueError, NotImplementedError):  # the last: this C library cannot start a session so
        return None


# The null device, open, with its device and number: state of this operating system process.
_null: Final[list[tuple[int, int, int]]] = []


def _empty_input() -> int:
    """Return a descriptor of the null device, kept open: a program that has to open it starts 4 µs later.

    Somebody may have closed it, and opened another file under its number.
    """
    for fd, device, number in _null[:]:
        try:  # `suppress` takes as long as the call
            found = os.fstat(fd)
        except OSError:
            continue
        if found.st_dev == device and found.st_ino == number:
            return fd
    fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    found = os.fstat(fd)
    _null[:] = [(fd, found.st_dev, found.st_ino)]
    return fd


@functools.cache
def _close_inherited() -> tuple[tuple[Any, ...], ...]:
    """Close what the program that started us left open; descriptors made by Python do not reach children anyway."""
    actions = []
    try:
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is wanted
            with suppress(OSError):  # the listing's own
                if int(name) > 2 and os.get_inheritable(int(name)):
                    actions.append((os.POSIX_SPAWN_CLOSE, int(name)))
    except FileNotFoundError:  # not Linux
        pass
    return tuple(actions)


def _unusable(argv: Sequence[str], error: ValueError) -> StepProblem:
    """Return why a command cannot be started: it has a NUL byte, or a text that has no bytes."""
    message = f"{argv[0]!r} cannot be started with these arguments: {error}"
    return StepProblem(ErrorKind.SPAWN, message, acted=False)


def _not_found(program: str, cwd: str | None) -> StepProblem:
    """Return why there is no program to start."""
    kind = ErrorKind.NOT_FOUND
    if "/" not in program:
        message = f"program {program!r} was not found on PATH; install it, or set meta.binary of the tool"
    elif os.path.lexists(program if cwd is None else os.path.join(cwd, program)):  # noqa: PTH118
        kind = ErrorKind.SPAWN
        message = f"{program!r} is not an executable file; check its permissions (chmod +x)"
    else:
        start = "where gert was started" if cwd is None else f"at {cwd}"
        message = f"program {program!r} does not exist; a relative path starts {start}"
    return StepProblem(kind, message, acted=False)


def _not_started(argv: Sequence[str], path: str, error: OSError, cwd: str | None) -> StepProblem:
    program, number = argv[0], error.errno
    if cwd is not None and not os.access(cwd, os.X_OK):
        message = f"{program!r} cannot be started in {cwd!r}: {os.strerror(number or errno.ENOENT)}"
    elif number in (errno.ENOENT, errno.ENOTDIR):
        message = f"{path!r} names an interpreter that does not exist; correct its '#!' line"
    elif number == errno.EACCES:
        message = f"{program!r} is not an executable file; check its permissions (chmod +x)"
    elif number == errno.ENOEXEC:
        message = f"{program!r} is not a program this system can run; a script needs a '#!' line"
    elif number == errno.E2BIG:
        size = sum(len(os.fsencode(word)) + 1 for word in argv)
        message = f"the {size} bytes of arguments are too long for {program!r}; pass large data through stdin"
    else:
        message = f"{program!r} could not be started: {error.strerror}"
    return StepProblem(ErrorKind.SPAWN, message, acted=False)


__all__ = ["spawn"]
