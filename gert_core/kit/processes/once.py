"""Run one program to its end: bounded output, a deadline, cancel, and no process left behind."""

from __future__ import annotations

import os
import select
import signal
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.results import StepProblem
from gert_core.kit.excerpts import part
from gert_core.kit.processes.group import GRACE, ProcessGroup, stopped_with_run
from gert_core.kit.processes.spawn import spawn
from gert_core.kit.spooling import PATIENCE, STDERR, STDOUT, current

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api.context import Deadline
    from gert_core.kit.spooling import Spool

OUTPUT_LIMIT: Final = 10 * 1024 * 1024
"""The most bytes of standard output and standard error together."""
LINGER: Final = 0.5
"""Seconds that the output of an ended program may stay open because its children hold it."""

_CHUNK: Final = 65536
_TAIL: Final = 16 * 1024
_TICK: Final = 0.02
_LONGEST_WAIT: Final = 3600.0

# How far ending a program has progressed; LINGERING: it has ended, but another process has its output open.
_RUNNING, _LINGERING, _TERMINATED, _KILLED = range(4)


class ProcessResult(Struct, frozen=True, kw_only=True):
    """The result of a program; signal N is exit code 128+N, bytes that are not UTF-8 are U+FFFD."""

    exit_code: int
    stdout: str
    stderr: str


def call(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    deadline: Deadline,
    stdin: bytes = b"",
    limit: int = OUTPUT_LIMIT,
    cwd: str | None = None,
    output: Callable[[str, bytes], None] | None = None,
) -> ProcessResult:
    """Run ``argv`` without a shell, in its own session, until it has ended.

    ``environ`` is the program's whole environment; ``cwd`` the directory it starts in, None: gert's own. ``output``
    is given what the program writes as it is read: ``stdout`` or ``stderr``, and the bytes.
    Raises ``StepProblem``: ``timeout``, ``cancelled``, ``output_too_large``, ``not_found``, ``spawn``.
    On the first three the group gets TERM, KILL after 5 s.
    """
    if deadline.stopped:
        cancelled = deadline.cancelled
        raise StepProblem(
            ErrorKind.CANCELLED if cancelled else ErrorKind.TIMEOUT,
            f"{argv[0]!r} was not started: {'the run is cancelled' if cancelled else 'no time is left'}",
            acted=False,
        )
    watch = _Watch(argv, limit, deadline.remaining(), output)
    try:
        watch.start(environ, stdin, cwd)
        watch.follow(deadline)
        return watch.result(deadline)
    finally:
        watch.close()


class _Watch:
    """One call: the descriptors still open, what was read from them, and how far ending it has gone.

    Work between ``spawn`` and the first wait takes no extra time: the program is being loaded meanwhile.
    """

    __slots__ = ("argv", "chunks", "ended", "group", "kind", "limit", "open", "output", "pending", "seconds", "size",
                 "spool", "spooled_from", "stage", "stdin", "until")  # fmt: skip

    def __init__(
        self, argv: Sequence[str], limit: int, seconds: float | None, output: Callable[[str, bytes], None] | None
    ) -> None:
        self.argv = argv
        self.output = output
        self.limit = limit
        self.seconds = seconds
        self.until = None if seconds is None else monotonic() + seconds
        self.open: dict[int, list[bytes]] = {}
        self.stdin = -1
        self.group: ProcessGroup | None = None
        self.spool: Spool | None = None
        """Where output is handed on to, once the program has run for a while."""
        self.spooled_from: float | None = None

    def start(self, environ: Mapping[str, str], stdin: bytes, cwd: str | None = None) -> None:
        """Create the pipes and spawn; input that fits into a pipe is written before the program starts."""
        self.chunks: tuple[list[bytes], list[bytes]] = ([], [])
        given: list[int] = []
        try:
            for chunks in self.chunks:
                read, write = os.pipe()
                self.open[read] = chunks
                given.append(write)
            source = None
            if stdin:
                source, self.stdin = os.pipe()
                given.append(source)
                os.set_blocking(self.stdin, False)
                self.pending = memoryview(stdin)
                self.feed()
            self.group = spawn(self.argv, environ=environ, stdin=source, stdout=given[0], stderr=given[1], cwd=cwd)
        except OSError as error:  # no descriptor left
            message = f"{self.argv[0]!r} could not be started: {error.strerror}"
            raise StepProblem(ErrorKind.SPAWN, message, acted=False) from None
        finally:
            for fd in given:
                os.close(fd)

    def follow(self, deadline: Deadline) -> None:
        """Read until the leader has ended and its output is closed, or the last stage of ending it is over."""
        assert self.group is not None  # noqa: S101 - start() came first
        self.kind, self.stage, self.size, self.ended = "", _RUNNING, 0, False
        if current() is not None:
            self.spooled_from = monotonic() + PATIENCE
        streams, pidfd, stop, poll = self.open, self.group.pidfd, deadline.fileno(), select.poll()
        for fd in streams:
            poll.register(fd, select.POLLIN)
        poll.register(stop, select.POLLIN)
        if pidfd >= 0:
            poll.register(pidfd, select.POLLIN)
        if self.stdin >= 0:
            poll.register(self.stdin, select.POLLOUT)
        while True:
            over = []
            for fd, what in poll.poll(self._timeout(pidfd)):
                if fd == pidfd:
                    self.ended = True
                    over.append(fd)
                elif fd == stop:
                    over.append(fd)
                    if self.stage == _RUNNING:
                        self.end(ErrorKind.CANCELLED)
                elif not (self.read(fd, empty=what == select.POLLHUP) if fd in streams else self.feed()):
                    over.append(fd)
            if self.ended and not streams:  # the usual end, of everything at once
                return
            for fd in over:
                poll.unregister(fd)
            if self.spooled_from is not None and monotonic() >= self.spooled_from:
                self.begin_spool()
            if pidfd < 0:
                self.ended = self.ended or self.group.ended()
                if self.ended and not streams:
                    return
            if self.ended and self.stage == _RUNNING:
                self.stage, self.until = _LINGERING, monotonic() + LINGER
            elif self.until is not None and monotonic() >= self.until and not self.escalate():
                return

    def read(self, fd: int, *, empty: bool) -> bool:
        """Read what is available; past the limit nothing more is kept. Return False when the stream is closed.

        ``empty``: every writer has closed it, and there is nothing left to read.
        """
        data = b"" if empty else os.read(fd, _CHUNK)
        if data:
            self.size += len(data)
            if self.size <= self.limit:
                self.open[fd].append(data)
                if self.output is not None:
                    self.output("stderr" if self.open[fd] is self.chunks[1] else "stdout", data)
                if self.spool is not None:
                    self.spool.write(STDERR if self.open[fd] is self.chunks[1] else STDOUT, data)
                return True
            if self.stage < _TERMINATED:
                self.end(ErrorKind.OUTPUT_TOO_LARGE)
        del self.open[fd]  # past the limit, too: a closed pipe stops the program even where TERM is ignored
        os.close(fd)
        return False

    def begin_spool(self) -> None:
        """Hand on what was written so far, and from now on what is written."""
        self.spool, self.spooled_from = current(), None
        if self.spool is not None:
            for stream, chunks in enumerate(self.chunks):
                if chunks:
                    self.spool.write(stream, b"".join(chunks))

    def feed(self) -> bool:
        """Write input until the pipe is full; a program need not read it. Return False when done."""
        try:
            while self.pending:
                self.pending = self.pending[os.write(self.stdin, self.pending) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            pass
        fd, self.stdin = self.stdin, -1
        os.close(fd)
        return False

    def end(self, kind: str) -> None:
        """Send TERM to the group; ``kind`` is why (empty: the leader ended by itself)."""
        assert self.group is not None  # noqa: S101
        self.kind = kind
        self.stage, self.until = _TERMINATED, monotonic() + GRACE
        self.group.signal(signal.SIGTERM)

    def escalate(self) -> bool:
        """Go to the next stage of ending it when this one is over; return False when there is none."""
        assert self.group is not None  # noqa: S101
        if self.stage < _TERMINATED:
            self.end(ErrorKind.TIMEOUT if self.stage == _RUNNING else "")
        elif self.stage == _TERMINATED:
            self.stage, self.until = _KILLED, monotonic() + LINGER
            self.group.signal(signal.SIGKILL)
        else:
            return False  # a process that left the group holds the output; closing our end is all we can do
        return True

    def result(self, deadline: Deadline) -> ProcessResult:
        """Collect the leader and return how it ended."""
        assert self.group is not None  # noqa: S101
        code = self.group.finish() if self.ended else None
        out, err = [b"".join(chunks).decode("utf-8", "replace") if chunks else "" for chunks in self.chunks]
        if not self.kind and stopped_with_run(code, deadline):
            self.kind = ErrorKind.CANCELLED
        if self.kind or code is None:
            raise StepProblem(self.kind, self._sentence(), detail={"stdout": _end(out), "stderr": _end(err)})
        return ProcessResult(exit_code=code, stdout=out, stderr=err)

    def close(self) -> None:
        """Close every descriptor and end every process that is left."""
        for fd in self.open:
            os.close(fd)
        if self.stdin >= 0:
            os.close(self.stdin)
        if self.group is not None:
            self.group.destroy()
        if self.spool is not None:
            self.spool.close()

    def _timeout(self, pidfd: int) -> float:
        first, until = self.spooled_from, self.until
        if first is None or (until is not None and until < first):
            first = until
        wait = _LONGEST_WAIT if first is None else first - monotonic()
        if pidfd < 0 and not self.ended:
            wait = min(wait, _TICK)
        if wait > _LONGEST_WAIT:
            return _LONGEST_WAIT * 1000
        return wait * 1000 if wait > 0 else 0

    def _sentence(self) -> str:
        name = repr(self.argv[0])
        if self.kind == ErrorKind.TIMEOUT:
            return f"{name} did not end within {max(round(self.seconds or 0, 1), 0.1):g}s and was stopped"
        if self.kind == ErrorKind.OUTPUT_TOO_LARGE:
            return f"{name} wrote more than {self.limit} bytes and was stopped; let it write less or to a file"
        return f"{name} was stopped because the run was cancelled"


def _end(text: str) -> str:
    return part(text, max(len(text) - _TAIL, 0))


__all__ = ["OUTPUT_LIMIT", "ProcessResult", "call"]
