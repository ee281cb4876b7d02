"""Runs gert in processes whose disk fails, or which are killed: a server that forks one gert per job, after the imports.

As a module: ``with Faulty(cwd) as gert: gert("exec", ..., fail_at=3)``. As a program: the server itself.
``modules`` are imported before the first job; ``patch`` gives names of modules other values in that child alone, and
``kill`` ends it with SIGKILL at the n-th call of some methods (``Kill``).
Nothing of this is in the product; the child replaces functions of ``os`` before it calls ``main``.
"""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import stat
import sys
import threading
import time
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from forking import Server, ended, fork_child, jobs, say, warm_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How one gert ended; ``calls`` are the writes it made, in order, up to and including the failed ones."""

    code: int
    out: str
    err: str
    calls: list[str]

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Die at the ``at``-th call of any of the methods of a class, ``module:Class``: before it, or after it has ended."""

    cls: str
    methods: tuple[str, ...]
    at: int
    when: str = "after"


class Background:
    """One gert that goes on while the test does; it has what tests use of ``subprocess.Popen``."""

    def __init__(self, server: Faulty, pid: int) -> None:
        self._server = server
        self.pid = pid
        self.returncode: int | None = None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        done = self._server.collect(self.pid, timeout=timeout or 60)
        self.returncode = done.code
        return done.out, done.err


class Faulty:
    """A running server; calling it runs one gert with a failing disk (or, without ``fail_at``, a good one)."""

    def __init__(self, cwd: Path, *, modules: tuple[str, ...] = ()) -> None:
        self._cwd = cwd
        self._server = Server(__file__, *modules, cwd=cwd)
        self._ask = self._server.ask

    def __enter__(self) -> Faulty:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def __call__(
        self,
        *argv: str,
        fail_at: int | None = None,
        code: int = errno.ENOSPC,
        once: bool = False,
        half: bool = False,
        environ: dict[str, str] | None = None,
        cwd: Path | None = None,
        patch: dict[str, object] | None = None,
        kill: Kill | None = None,
        unset: tuple[str, ...] = (),
    ) -> Done:
        """``fail_at``: the n-th write fails, and all after it unless ``once``; ``half`` writes half of it first."""
        job = {
            "argv": argv,
            "at": fail_at,
            "code": code,
            "once": once,
            "half": half,
            "environ": environ or {},
            "unset": unset,
            "cwd": str(cwd or self._cwd),
            "patch": patch or {},
            "kill": asdict(kill) if kill is not None else None,
        }
        return Done(**self._ask(job))

    def start(
        self, *argv: str, environ: dict[str, str], cwd: Path, patch: dict[str, object] | None = None
    ) -> Background:
        """Start one gert and go on."""
        job = {"argv": argv, "at": None, "code": 0, "once": False, "half": False, "environ": environ, "unset": ()}
        job |= {"cwd": str(cwd), "patch": patch or {}, "kill": None, "background": True}
        return Background(self, self._ask(job)["pid"])

    def collect(self, pid: int, *, timeout: float) -> Done:
        """Wait for a gert that was started before."""
        until = time.monotonic() + timeout
        while (found := self._ask({"collect": pid})).get("running"):
            assert time.monotonic() < until, f"{pid} has not ended"
            time.sleep(0.02)
        return Done(**found)


# -- the server -------------------------------------------------------------------------------------------------


class _Disk:
    """Counts what changes the disk and fails it from the n-th time on."""

    def __init__(self, job: dict[str, Any], log: Path) -> None:
        self._at = job["at"]
        self._code = job["code"]
        self._once = job["once"]
        self._half = job["half"]
        self._log = log
        self._count = 0
        self._lock = threading.Lock()
        self._really_open = os.open
        self._really_write = os.write
        self._out = self._really_open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._pid = os.getpid()

    def install(self) -> None:
        for name in ("write", "pwrite", "fsync", "fdatasync", "ftruncate"):
            setattr(os, name, self._on_descriptor(name, getattr(os, name)))
        for name in ("mkdir", "replace", "rename"):
            setattr(os, name, self._on_path(name, getattr(os, name)))
        os.open = self._open
        os.fdopen = self._fdopen
        from gert_core.trace import sinks

        sinks._fdatasync = os.fdatasync  # taken before it could be replaced

    def _fails(self, what: str) -> bool:
        with self._lock:  # threads that write at the same time are told in the order in which they are counted
            self._count += 1
            number = self._count
            self._really_write(self._out, f"{what}\n".encode())
        if self._at is None or number < self._at:
            return False
        return not self._once or number == self._at

    def _error(self) -> OSError:
        return OSError(self._code, os.strerror(self._code))

    def _on_descriptor(self, name: str, real: Any) -> Any:
        def call(fd: int, *rest: Any) -> Any:
            mode = os.fstat(fd).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or fd in (1, 2):
                return real(fd, *rest)
            if name == "ftruncate":  # giving space back works on a full disk
                return real(fd, *rest)
            if self._fails(f"{name} {Path(f'/proc/self/fd/{fd}').readlink()}"):
                if self._half and name == "write" and len(rest[0]) > 1:
                    self._half = False
                    return real(fd, rest[0][: len(rest[0]) // 2])
                raise self._error()
            return real(fd, *rest)

        return call

    def _on_path(self, name: str, real: Any) -> Any:
        def call(path: Any, *rest: Any, **options: Any) -> Any:
            if self._fails(f"{name} {path}"):
                raise self._error()
            return real(path, *rest, **options)

        return call

    def _open(self, path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & os.O_CREAT and not Path(path).exists() and self._fails(f"create {path}"):
            raise self._error()
        return self._really_open(path, flags, *rest, **options)

    def _fdopen(self, fd: int, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if "w" not in mode and "a" not in mode:
            return open(fd, mode, *rest, **options)
        disk = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                if disk._fails(f"write {Path(f'/proc/self/fd/{fd}').readlink()}"):
                    raise disk._error()
                return super().write(data)

        return io.BufferedWriter(Raw(fd, "wb"))


def _install_kill(kill: dict[str, Any]) -> None:
    """Let the process die at one call of some methods."""
    module, _, name = kill["cls"].partition(":")
    found, count, lock = getattr(import_module(module), name), [0], threading.Lock()

    def dying(real: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            with lock:
                count[0] += 1
                number = count[0]
            if number == kill["at"] and kill["when"] == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args, **named)
            if number == kill["at"]:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for method in kill["methods"]:
        setattr(found, method, dying(getattr(found, method)))


def _child(job: dict[str, Any], out: Path) -> int:
    os.chdir(job["cwd"])
    os.environ.update(job["environ"])
    for name in job["unset"]:
        os.environ.pop(name, None)
    for name, value in job["patch"].items():
        module, _, attribute = name.partition(":")
        setattr(import_module(module), attribute, value)
    if job["kill"] is not None:
        _install_kill(job["kill"])
    from gert_core.cli import main

    _Disk(job, out / "calls").install()
    return main(job["argv"])


def _serve() -> None:
    warm_up()
    for name in sys.argv[1:]:
        import_module(name)
    background: dict[int, Path] = {}
    for job in jobs():
        if "collect" in job:
            pid = job["collect"]
            over, status = os.waitpid(pid, os.WNOHANG)
            say(ended(background.pop(pid), status) if over else {"running": True})
            continue
        pid, out = fork_child(partial(_child, job))
        if job.get("background"):
            background[pid] = out
            say({"pid": pid})
        else:
            say(ended(out, os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    _serve()
