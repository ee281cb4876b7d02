"""Run one program to its end: bounded output, a deadline, cancel, and no process left behind."""

from __future__ import annotations

import math
import os
import select
import signal
import time
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from gert_core.api.processes.group import GRACE, Group, pipe, spawn
from gert_core.api.results import StepProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api.context import Deadline

OUTPUT_LIMIT: Final = 10 * 1024 * 1024
"""Bytes of standard output and standard error together."""
LINGER: Final = 0.5
"""Seconds a program that has ended may leave its output open in the hands of its own children."""

_CHUNK: Final = 65536
_TAIL: Final = 2000
_TICK: Final = 0.02
_LONGEST_WAIT: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """How a program ended; death by signal N is exit code 128+N, bytes that are not UTF-8 became U+FFFD."""

    exit_code: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    deadline: Deadline,
    stdin: bytes = b"",
    limit: int = OUTPUT_LIMIT,
) -> ProcessResult:
    """Run ``argv`` without a shell, in its own process group and gert's directory, until it has ended.

    ``environ`` is the program's whole environment. Raises ``StepProblem``: ``timeout``, ``cancelled``,
    ``output_too_large``, ``not_found``, ``spawn``. On the first three the group gets TERM, then KILL after 5 s.
    """
    if deadline.stopped:
        kind, why = ("cancelled", "the run is cancelled") if deadline.cancelled else ("timeout", "no time is left")
        raise StepProblem(kind, f"{argv[0]!r} was not started: {why}")
    watch = _Watch(argv, deadline=deadline, limit=limit)
    try:
        watch.start(environ, stdin)
        watch.follow()
        return watch.result()
    finally:
        watch.close()


class _Stage(IntEnum):
    RUNNING = 0
    LINGERING = 1  # the leader has ended, somebody else holds its output
    TERMINATED = 2
    KILLED = 3


class _Watch:
    """One run: the descriptors still open, what was read from them, and how far ending it has gone."""

    __slots__ = ("argv", "deadline", "ended", "err", "group", "kind", "limit", "open", "out", "pending", "poll",
                 "seconds", "size", "stage", "stdin", "until")  # fmt: skip

    def __init__(self, argv: Sequence[str], *, deadline: Deadline, limit: int) -> None:
        self.argv = argv
        self.deadline = deadline
        self.limit = limit
        self.group: Group | None = None
        self.poll = select.poll()
        self.out: list[bytes] = []
        self.err: list[bytes] = []
        self.open: dict[int, list[bytes]] = {}
        self.stdin = -1
        self.pending = memoryview(b"")
        self.size = 0
        self.kind = ""
        self.ended = False
        self.stage = _Stage.RUNNING
        self.seconds = deadline.remaining()
        self.until = None if self.seconds is None else time.monotonic() + self.seconds

    def start(self, environ: Mapping[str, str], stdin: bytes) -> None:
        """Make the pipes and spawn; input that fits into a pipe is in it before the program starts."""
        given: list[int] = []
        try:
            for chunks in (self.out, self.err):
                read, write = pipe()
                self.open[read] = chunks
                given.append(write)
            source = None
            if stdin:
                source, self.stdin = pipe()
                given.append(source)
                os.set_blocking(self.stdin, False)
                self.pending = memoryview(stdin)
                self.feed()
            self.group = spawn(self.argv, environ=environ, stdin=source, stdout=given[0], stderr=given[1])
        except OSError as error:  # no descriptor left
            raise StepProblem("spawn", f"{self.argv[0]!r} could not be started: {error.strerror}") from None
        finally:
            for fd in given:
                os.close(fd)

    def follow(self) -> None:
        """Read until the leader has ended and its output is closed, or the last means has been used."""
        assert self.group is not None  # noqa: S101 - start() came first
        poll, streams, pidfd, stop = self.poll, self.open, self.group.pidfd, self.deadline.fileno()
        for fd in streams:
            poll.register(fd, select.POLLIN)
        poll.register(stop, select.POLLIN)
        if pidfd >= 0:
            poll.register(pidfd, select.POLLIN)
        if self.stdin >= 0:
            poll.register(self.stdin, select.POLLOUT)
        while streams or not self.ended:
            for fd, _ in poll.poll(self._timeout(pidfd)):
                if fd in streams:
                    self.read(fd)
                elif fd == pidfd:
                    self.ended = True
                    poll.unregister(fd)
                elif fd == stop:
                    poll.unregister(fd)
                    if self.stage is _Stage.RUNNING:
                        self.end("cancelled")
                elif fd == self.stdin:
                    self.feed()
            if pidfd < 0 and not self.ended:
                self.ended = self.group.ended()
            if self.stage is _Stage.RUNNING and self.ended and streams:
                self.stage, self.until = _Stage.LINGERING, time.monotonic() + LINGER
            elif self.until is not None and time.monotonic() >= self.until and not self.escalate():
                return

    def read(self, fd: int) -> None:
        """Take what is there; past the limit nothing more is kept or read."""
        data = os.read(fd, _CHUNK)
        if not data:
            self._drop(fd)
            return
        self.size += len(data)
        if self.size <= self.limit:
            self.open[fd].append(data)
            return
        for each in tuple(self.open):
            self._drop(each)  # a closed pipe stops a flood even where TERM is ignored
        if self.stage < _Stage.TERMINATED:
            self.end("output_too_large")

    def feed(self) -> None:
        """Write input until the pipe is full; a program that does not read its input may do so."""
        try:
            while self.pending:
                self.pending = self.pending[os.write(self.stdin, self.pending) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            pass
        self._close_stdin()

    def end(self, kind: str) -> None:
        """TERM to the group; ``kind`` is why (empty: the leader ended by itself)."""
        assert self.group is not None  # noqa: S101
        self.kind = kind
        self.stage, self.until = _Stage.TERMINATED, time.monotonic() + GRACE
        self.group.signal(signal.SIGTERM)

    def escalate(self) -> bool:
        """Time is up at this stage: take the next means; False when there is none."""
        assert self.group is not None  # noqa: S101
        if self.stage < _Stage.TERMINATED:
            self.end("timeout" if self.stage is _Stage.RUNNING else "")
        elif self.stage is _Stage.TERMINATED:
            self.stage, self.until = _Stage.KILLED, time.monotonic() + LINGER
            self.group.signal(signal.SIGKILL)
        else:
            return False  # output is held by a process that left the group; closing our end is all that is left
        return True

    def result(self) -> ProcessResult:
        """Collect the leader and say how it ended."""
        assert self.group is not None  # noqa: S101
        code = self.group.finish() if self.ended else None
        out, err = (b"".join(chunks).decode("utf-8", "replace") for chunks in (self.out, self.err))
        if self.kind or code is None:
            detail = {"stdout": out[-_TAIL:], "stderr": err[-_TAIL:]}
            raise StepProblem(self.kind, self._sentence(), detail=detail)
        return ProcessResult(exit_code=code, stdout=out, stderr=err)

    def close(self) -> None:
        """Whatever happened: no descriptor and no process stays."""
        for fd in tuple(self.open):
            self._drop(fd)
        self._close_stdin()
        if self.group is not None:
            self.group.destroy()

    def _timeout(self, pidfd: int) -> int | None:
        if self.until is None:
            wait = _LONGEST_WAIT
        else:
            wait = min(max(0.0, self.until - time.monotonic()), _LONGEST_WAIT)
        if pidfd < 0 and not self.ended:
            wait = min(wait, _TICK)
        return math.ceil(wait * 1000)

    def _drop(self, fd: int) -> None:
        del self.open[fd]
        try:
            self.poll.unregister(fd)
        except KeyError:
            pass
        os.close(fd)

    def _close_stdin(self) -> None:
        fd, self.stdin = self.stdin, -1
        if fd >= 0:
            try:
                self.poll.unregister(fd)
            except KeyError:
                pass
            os.close(fd)

    def _sentence(self) -> str:
        name = repr(self.argv[0])
        if self.kind == "timeout":
            return f"{name} did not end within {round(self.seconds or 0, 2):g}s and was stopped"
        if self.kind == "output_too_large":
            return f"{name} wrote more than {self.limit} bytes and was stopped; let it write less, or to a file"
        return f"{name} was stopped because the run was cancelled"


__all__ = ["OUTPUT_LIMIT", "ProcessResult", "run"]
