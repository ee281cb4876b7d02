"""Forks one gert per job from a process that has imported gert: what a test says to it, and what that process does.

A test uses ``Server``; the program that it starts calls ``warm_up`` and ``fork_child`` for each of its ``jobs``.
"""

from __future__ import annotations

import builtins
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Server:
    """The process that forks, as a test sees it: one JSON document to it is answered by one."""

    def __init__(self, *command: str, cwd: Path, environ: dict[str, str] | None = None) -> None:
        self._command = [sys.executable, *command]
        self._cwd = cwd
        self._environ = environ
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Server:
        self._process = subprocess.Popen(
            self._command,
            cwd=self._cwd,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.communicate(timeout=30)

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


# -- in the process that forks ------------------------------------------------------------------------------------


def jobs() -> Iterator[dict[str, Any]]:
    """What tests ask for."""
    for line in sys.stdin:
        yield json.loads(line)


def say(found: dict[str, Any]) -> None:
    """Answer the job."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def fork_child(main: Callable[[Path], int], *, answers: str = "") -> tuple[int, Path]:
    """Call ``main`` in a new process, whose exit code it returns; its number, and the directory of what it writes.

    ``answers`` is its standard input; ``main`` may write a file ``calls`` into the directory.
    """
    out = Path(tempfile.mkdtemp())
    (out / "in").write_text(answers)
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            _redirect(out)
            code = main(out)
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return pid, out


def _redirect(out: Path) -> None:
    """Give the process input and output of its own."""
    os.dup2(os.open(out / "in", os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(out / name, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.stdin = builtins.open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - for the process's whole life
    sys.stdout = builtins.open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = builtins.open(2, "w", closefd=False, encoding="utf-8", buffering=1)  # noqa: SIM115


def ended(out: Path, status: int) -> dict[str, Any]:
    """How a process ended, and what it wrote, which is deleted."""
    said = {
        name: (out / name).read_text(encoding="utf-8", errors="surrogateescape") if (out / name).exists() else ""
        for name in ("out", "err", "calls")
    }
    shutil.rmtree(out)
    return {"code": os.waitstatus_to_exitcode(status), **said, "calls": said["calls"].splitlines()}


def _run_once(main: Callable[[list[str]], int]) -> None:
    main(["exec", "warm.yaml", "--json"])
    main(["resume", "--json", "latest"])  # where the step types are not installed nothing was run, and it says so
    main(["validate", "warm.yaml"])
    main(["runs", "show", "latest"])


def warm_up(commands: Callable[[Callable[[list[str]], int]], None] = _run_once, *, meta: str = "name: warm") -> None:
    """Do one run here first: what every run needs is imported then, and a child is ready in milliseconds.

    ``commands`` calls what it is given with command lines, in a directory with the runbook ``warm.yaml``.
    """
    from gert_core.cli import main

    here, said = Path.cwd(), (sys.stdout, sys.stderr)
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        sys.stdout = sys.stderr = nowhere
        os.chdir(folder)
        Path("tools").mkdir()
        Path("tools", "yes.tool.yaml").write_text(_TOOL)
        Path("warm.yaml").write_text(_BOOK % meta)
        commands(main)
        os.chdir(here)
    sys.stdout, sys.stderr = said


_TOOL = """
apiVersion: tool/v0
meta: {name: "yes", transport: stdio, binary: "true"}
contract: {effects: [host], writes: []}
actions: {run: {argv: ["true"]}}
"""
_BOOK = """
apiVersion: kernel/v0
meta: {%s}
tools: ["yes"]
steps: [{type: tool, tool: "yes"}, {type: end, outcome: {category: resolved, code: ok}}]
"""

__all__ = ["Server", "ended", "fork_child", "jobs", "say", "warm_up"]
