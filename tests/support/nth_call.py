"""Runs gert in processes in which the n-th call of the C library fails (see ``nth_call.c``).

As a module: ``with NthCall(shim, cwd) as gert: gert("exec", ..., nth=3)``. As a program: the server itself, which has the
shim loaded, imports gert once and forks one gert per job. Nothing of this is in the product.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from forking import Server, ended, fork_child, jobs, say, warm_up

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
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._server = Server(__file__, cwd=cwd, environ=environ | {"LD_PRELOAD": str(shim)})

    def __enter__(self) -> NthCall:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def __call__(
        self, *argv: str, cwd: Path, nth: int = 0, variant: int = 0, sticky: bool = False, answers: str = ""
    ) -> Done:
        """``nth``: that call below ``cwd`` fails, and with ``sticky`` all later ones of its kind too.

        ``variant`` chooses among the errors that such a call can have.
        """
        job = {
            "argv": argv,
            "cwd": str(cwd.resolve()),
            "nth": nth,
            "variant": variant,
            "sticky": sticky,
            "answers": answers,
        }
        return Done(argv=argv, **self._server.ask(job))


# -- the server -------------------------------------------------------------------------------------------------


def _child(job: dict[str, Any], out: Path) -> int:
    os.chdir(job["cwd"])
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
    return status


def _serve() -> None:
    os.environ.pop("LD_PRELOAD", None)  # tools are started without it
    warm_up()
    for job in jobs():
        pid, out = fork_child(partial(_child, job), answers=job["answers"])
        say(ended(out, _wait(pid)))


if __name__ == "__main__":
    _serve()
