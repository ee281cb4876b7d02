"""Runs gert in processes that are forked from one in which gert is imported already: most of a short command is imports.

As a module: ``run(argv, cwd=..., environ=..., stdin=...)``. As a program: the server, one for each process of tests. A
child has streams, directory, arguments and environment of its own, and calls what ``python -m gert_core`` calls. Its
environment in /proc is not its own, and what Python reads from the environment as it starts is read once: where that
matters the process is started as people start it (``suits``). ``GERT_TEST_COLD=1`` starts all of them so.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COMMAND = [sys.executable, "-m", "gert_core"]
_START = "import sys\nfrom gert_core.cli import main\nsys.exit(main())\n"
_LENGTH = struct.Struct("!I")
_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "COVERAGE", "TMPDIR", "PYDANTIC")
"""Beginnings of the names that are read as Python starts or as modules are imported."""


def suits(environ: Mapping[str, str]) -> bool:
    """Whether a forked process behaves as one that is started with this environment."""
    if os.environ.get("GERT_TEST_COLD") or not hasattr(os, "pidfd_open"):
        return False
    names = {name for name in {*environ, *os.environ} if name.startswith(_AT_START)}
    return all(environ.get(name) == os.environ.get(name) for name in names)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdin: bytes = b"",
    cold: bool = False,
    before: str = "",
) -> subprocess.CompletedProcess[bytes]:
    """Run gert to its end, at most a minute; ``cold`` starts it as people do. ``before`` is Python it executes first."""
    if cold or not suits(environ):
        start = [*COMMAND] if not before else [sys.executable, "-c", f"{before}\n{_START}"]
        return subprocess.run(
            [*start, *argv], cwd=cwd, input=stdin, capture_output=True, env=environ, timeout=60, check=False
        )
    return _server().run(list(argv), cwd=cwd, environ=dict(environ), stdin=stdin, before=before)


@dataclass(slots=True)
class _Server:
    """The server of this process, and the one connection to it."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self, argv: list[str], *, cwd: Path, environ: dict[str, str], stdin: bytes, before: str
    ) -> subprocess.CompletedProcess[bytes]:
        pipes = [os.pipe() for _ in range(3)]
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
        theirs = [theirs_in, theirs_out, theirs_err]
        try:
            pid = self._ask({"argv": argv, "cwd": str(cwd), "environ": environ, "before": before}, theirs)["pid"]
        finally:
            for fd in theirs:
                os.close(fd)
        said = _talk(ours_in, stdin, (ours_out, ours_err), until=time.monotonic() + 60)
        process = os.pidfd_open(pid)
        try:
            if said is None or not select.select([process], [], [], 60)[0]:
                os.kill(pid, 9)
                raise subprocess.TimeoutExpired([*COMMAND, *argv], 60)
        finally:
            os.close(process)
            code = self._ask({"wait": pid})["code"]
        return subprocess.CompletedProcess([*COMMAND, *argv], code, *said)

    def _ask(self, job: dict[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        body = json.dumps(job).encode()
        with self.lock:
            socket.send_fds(self.connection, [_LENGTH.pack(len(body))], list(fds))
            self.connection.sendall(body)
            answer: dict[str, Any] = json.loads(
                _received(self.connection, _LENGTH.unpack(_received(self.connection, 4))[0])
            )
        return answer

    def end(self) -> None:
        self.connection.close()
        self.process.wait(10)


_STARTED: dict[int, _Server] = {}


def _server() -> _Server:
    """Return the server of this process; it ends when this process does."""
    if (found := _STARTED.get(os.getpid())) is not None:
        return found
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    server = _STARTED[os.getpid()] = _Server(process, ours)
    atexit.register(server.end)
    return server


def _talk(to: int, data: bytes, sources: tuple[int, int], *, until: float) -> tuple[bytes, bytes] | None:
    """Write to one pipe while the others are read to their ends; ``None`` when that takes too long."""
    feeder = threading.Thread(target=_feed, args=(to, data), daemon=True)
    feeder.start()
    said: dict[int, bytearray] = {fd: bytearray() for fd in sources}
    opened = set(sources)
    while opened and (left := until - time.monotonic()) > 0:
        for fd in select.select(opened, [], [], left)[0]:
            if part := os.read(fd, 65536):
                said[fd] += part
            else:
                opened.discard(fd)
    for fd in sources:
        os.close(fd)
    return None if opened else (bytes(said[sources[0]]), bytes(said[sources[1]]))


def _feed(to: int, data: bytes) -> None:
    try:
        with open(to, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:  # it reads no further
        pass


# -- the server -------------------------------------------------------------------------------------------------


def _received(connection: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size and (part := connection.recv(size - len(parts))):
        parts += part
    return parts


def _serve(connection: socket.socket) -> None:
    """Fork one gert for each job until the other side is closed."""
    while True:
        head, fds, _, _ = socket.recv_fds(connection, _LENGTH.size, 3)
        if not head:
            return
        head += _received(connection, _LENGTH.size - len(head))
        job = json.loads(_received(connection, _LENGTH.unpack(head)[0]))
        if "wait" in job:
            answer = {"code": os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1])}
        else:
            pid = os.fork()
            if pid == 0:
                connection.close()
                _become_gert(job, fds)
            for fd in fds:
                os.close(fd)
            answer = {"pid": pid}
        body = json.dumps(answer).encode()
        connection.sendall(_LENGTH.pack(len(body)) + body)


def _become_gert(job: dict[str, Any], fds: list[int]) -> None:
    """Take the streams, directory, environment and arguments of a job, and do what the program does."""
    code = 99
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        os.chdir(job["cwd"])
        os.environ.clear()
        os.environ.update(job["environ"])
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the whole life of the process
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
        sys.argv = ["gert", *job["argv"]]
        exec(job["before"], {})
        from gert_core.cli import main

        code = main()
        sys.stdout.flush()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 99
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    from faulty import warm_up

    warm_up()
    with socket.socket(fileno=int(sys.argv[1])) as _connection:
        _serve(_connection)


__all__ = ["COMMAND", "run", "suits"]
