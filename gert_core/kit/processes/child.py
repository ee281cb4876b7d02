"""A program that keeps running: write to it, read its lines, keep the end of its standard error, end it."""

from __future__ import annotations

import os
import select
import signal
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.results import StepProblem
from gert_core.kit.processes.group import GRACE, ProcessGroup
from gert_core.kit.processes.spawn import spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from gert_core.api.context import Deadline

LINE_LIMIT: Final = 10 * 1024 * 1024
"""The most bytes of one line."""
STDERR_TAIL: Final = 16 * 1024
"""The number of bytes of standard error that are kept, from its end."""

_CHUNK: Final = 65536


class Child:
    """One running program. One thread iterates ``lines``; the other methods may be called from any thread."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: str | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self.program: Final = argv[0] if argv else ""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._stderr = b""
        self._on_stderr = on_stderr
        self._exit: int | None = None
        self._reading = False
        given: list[int] = []
        kept: list[int] = []
        try:
            for mine, theirs in ((1, 0), (0, 1), (0, 1), (0, 1)):
                ends = os.pipe()
                kept.append(ends[mine])
                given.append(ends[theirs])
            self._group = spawn(argv, environ=environ, stdin=given[0], stdout=given[1], stderr=given[2], cwd=cwd)
        except BaseException as error:
            for fd in (*kept, *given):
                os.close(fd)
            if isinstance(error, OSError):  # no descriptor left
                message = f"{self.program!r} could not be started: {error.strerror}"
                raise StepProblem(ErrorKind.SPAWN, message, acted=False) from None
            raise
        for fd in given[:3]:
            os.close(fd)
        self._stdin, self._out, self._err, self._woken = kept
        self._wake = given[3]
        os.set_blocking(self._stdin, False)

    @property
    def pid(self) -> int:
        """The process number, which is also that of its group."""
        return self._group.pid

    @property
    def stderr(self) -> str:
        """The end of what the program wrote to standard error so far."""
        return self._stderr.decode("utf-8", "replace")

    def write(self, data: bytes, deadline: Deadline | None) -> None:
        """Write everything; raise ``BrokenPipeError`` when the program no longer reads, ``TimeoutError`` when late.

        Without a deadline it is written only if that is possible at once. After an exception it is unknown how much
        was written: end the program.
        """
        pending = memoryview(data)
        remaining = 0.0 if deadline is None else deadline.remaining()
        if not self._writing.acquire(timeout=-1 if remaining is None else remaining):
            raise TimeoutError
        try:
            while pending:
                if self._stdin < 0:
                    raise BrokenPipeError
                try:
                    pending = pending[os.write(self._stdin, pending) :]
                except BlockingIOError:
                    self._wait_writable(deadline)
        finally:
            self._writing.release()

    def lines(self, limit: int = LINE_LIMIT) -> Generator[bytes, None, None]:
        """Yield every line of standard output, without its end, until the program closes it or is ended.

        Standard error is drained in the same loop, so a program that writes much of it never blocks. A line longer than
        ``limit`` raises ``OverflowError``; a last line without an end is given as it is.
        """
        with self._lock:
            if self._reading or self._out < 0:
                return
            self._reading = True
        poll = select.poll()
        for fd in (self._out, self._err, self._woken):
            poll.register(fd, select.POLLIN)
        held: list[bytes] = []
        size = 0
        try:
            while True:
                for fd, _ in poll.poll():
                    data = os.read(fd, _CHUNK)
                    if fd == self._err:
                        if not data:
                            poll.unregister(fd)
                        self._keep_stderr(data)
                        continue
                    if not data:  # its output has ended, or it was ended
                        if size and fd == self._out:
                            yield b"".join(held)
                        return
                    first, *rest = data.split(b"\n")
                    held.append(first)
                    size += len(first)
                    if size > limit:
                        raise OverflowError
                    if rest:
                        yield b"".join(held)
                        yield from rest[:-1]
                        held, size = [rest[-1]], len(rest[-1])
        finally:
            self._drain_stderr()
            with self._lock:
                self._reading = False
                self._close_output()

    def wait(self, seconds: float) -> int | None:
        """Return its exit code (128+N for signal N) if it ends within ``seconds``, else None."""
        with self._lock:
            if self._exit is None and _ended(self._group, seconds):
                self._exit = self._group.finish()
                self._group.destroy()
            return self._exit

    def close(self, grace: float = 1.0) -> int | None:
        """Close its input, wait ``grace`` seconds for it to end, then send TERM, then KILL; no process is left."""
        code = self.wait(grace if self._close_stdin(grace) else 0)
        if code is None:
            with self._lock:
                self._group.signal(signal.SIGTERM)
            code = self.wait(GRACE)
        with self._lock:
            if code is None:
                self._group.destroy()
            wake, self._wake = self._wake, -1
            if wake >= 0:
                os.close(wake)  # the reader notices it, even when a process outside the group has the output open
            if not self._reading:
                self._close_output()
        self._close_stdin(GRACE)
        return code

    def _close_stdin(self, seconds: float) -> bool:
        """Return whether it is closed now; a writer that is blocked is not waited for longer than this."""
        if not self._writing.acquire(timeout=seconds):
            return False
        stdin, self._stdin = self._stdin, -1
        if stdin >= 0:
            os.close(stdin)
        self._writing.release()
        return True

    def _wait_writable(self, deadline: Deadline | None) -> None:
        if deadline is None:
            raise TimeoutError
        poll = select.poll()
        poll.register(self._stdin, select.POLLOUT)
        poll.register(deadline.fileno(), select.POLLIN)
        remaining = deadline.remaining()
        poll.poll(None if remaining is None else min(remaining, 3600.0) * 1000)
        if deadline.stopped:
            raise TimeoutError

    def _drain_stderr(self) -> None:
        # Its last output on standard error has the reason, and may arrive a moment after its output was closed.
        poll = select.poll()
        poll.register(self._err, select.POLLIN)
        until = monotonic() + 0.2
        while poll.poll(max(0.0, until - monotonic()) * 1000):
            data = os.read(self._err, _CHUNK)
            if not data or monotonic() >= until:
                return
            self._keep_stderr(data)

    def _keep_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-STDERR_TAIL:]
        if self._on_stderr is not None and data:
            self._on_stderr(data)

    def _close_output(self) -> None:
        for fd in (self._out, self._err, self._woken):
            with suppress(OSError):
                os.close(fd)
        self._out = self._err = self._woken = -1


def _ended(group: ProcessGroup, seconds: float) -> bool:
    until = monotonic() + seconds
    if group.pidfd >= 0:
        poll = select.poll()
        poll.register(group.pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    while not group.ended():
        left = until - monotonic()
        if left <= 0:
            return False
        threading.Event().wait(min(left, 0.02))
    return True


__all__ = ["LINE_LIMIT", "STDERR_TAIL", "Child"]
