"""Runs gert in processes in which the n-th call of the C library fails (see ``nth_call.c``).

As a module: ``with NthCall(shim, cwd) as gert: gert("exec", ..., nth=3)``. As a program: the server itself, which has the
shim loaded, imports gert once and forks one gert per job. Nothing of this is in the product.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faulty import _warm_up

SOURCE = Path(__file__).with_suffix(".c")
PATIENCE = 60.0
"""A gert that takes longer hangs."""


def build_shim(directory: Path) -> Path | None:
    """Compile the shim; ``None`` where there is no compiler, or one that cannot (the reason is on standard error)."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    shim = directory / "nth_call.so"
    flags = ["-std=gnu11", "-O1", "-shared", "-fPIC"]
    done = subprocess.run([compiler, *flags, "-o", str(shim), str(SOURCE), "-ldl"], check=False)
    return shim if done.returncode == 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How one gert ended; ``calls`` are the counted calls in order, those that failed begin with an exclamation mark."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str
    calls: list[str]

    def __str__(self) -> str:
        return f"{' '.join(self.argv)} ended with {self.code}, out: {self.out!r}, err: {self.err!r}"

    @property
    def failed(self) -> list[str]:
        """The calls that failed."""
        return [call for call in self.calls if call.startswith("!")]


class NthCall:
    """A running server; calling it runs one gert in which a call fails (or, without ``nth``, none)."""

    def __init__(self, shim: Path, cwd: Path) -> None:
        self._shim = shim
        self._cwd = cwd
        self._server: subprocess.Popen[str] | None = None

    def __enter__(self) -> NthCall:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            cwd=self._cwd,
            env=environ | {"LD_PRELOAD": str(self._shim)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.communicate(timeout=30)

    def __call__(
        self, *argv: str, cwd: Path, nth: int = 0, variant: int = 0, sticky: bool = False, answers: str = ""
    ) -> Done:
        """``nth``: that call below ``cwd`` fails, and with ``sticky`` all later ones of its kind too.

        ``variant`` chooses among the errors that such a call can have.
        """
        assert self._server is not None
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        job = {
            "argv": argv,
            "cwd": str(cwd.resolve()),
            "nth": nth,
            "variant": variant,
            "sticky": sticky,
            "answers": answers,
        }
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        return Done(argv=argv, **json.loads(self._server.stdout.readline()))


# -- the server -------------------------------------------------------------------------------------------------


def _child(job: dict[str, Any], out: Path) -> int:
    os.chdir(job["cwd"])
    (out / "in").write_text(job["answers"])
    os.dup2(os.open(out / "in", os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(out / name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.stdin = builtins.open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - for the process's whole life
    sys.stdout = builtins.open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = builtins.open(2, "w", closefd=False, encoding="utf-8", buffering=1)  # noqa: SIM115
    from gert_core.cli import main

    library = ctypes.CDLL(None)
    calls = os.open(out / "calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    library.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    library.fault_arm(os.fsencode(job["cwd"]), job["nth"], job["variant"], int(job["sticky"]), calls)
    try:
        code = main(job["argv"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        library.fault_disarm()
    return code


def _wait(pid: int) -> int:
    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(PATIENCE, kill)
    timer.start()
    _, status = os.waitpid(pid, 0)
    timer.cancel()
    return os.waitstatus_to_exitcode(status)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""


def _serve() -> None:
    os.environ.pop("LD_PRELOAD", None)  # tools are started without it
    _warm_up()
    for line in sys.stdin:
        job = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            pid = os.fork()
            if pid == 0:
                try:
                    code = _child(job, out)
                except BaseException:
                    import traceback

                    traceback.print_exc()
                    code = 99
                os._exit(code)
            code = _wait(pid)
            said = {name: _text(out / name) for name in ("out", "err")}
            calls = _text(out / "calls").splitlines()
            sys.stdout.write(json.dumps({"code": code, **said, "calls": calls}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _serve()
