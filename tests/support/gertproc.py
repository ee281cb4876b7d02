"""Runs ``gert`` as its own process for tests that look at streams, environments and files."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warm
from warm import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

RESULT_FIELDS = [
    "run_id",
    "runbook",
    "mode",
    "status",
    "outcome",
    "duration",
    "trace",
    "steps",
    "outputs",
    "failure",
    "failures",
    "pending",
    "questions",
    "next",
]
"""What ``exec --json`` and ``resume --json`` print, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How it ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)


class Gert:
    """A project directory in which gert is called."""

    def __init__(self, root: Path, *, cold: bool = False, **environ: str) -> None:
        self.root = root
        self.cold = cold
        given = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"  # noqa: PTH120
        self.environ = {**given, "PATH": path, **environ}

    def write(self, **files: str) -> None:
        """``write(book=...)`` is a runbook, ``write(tool_x=...)`` the tool x."""
        for name, text in files.items():
            tool = name.removeprefix("tool_")
            path = self.root / "tools" / f"{tool}.tool.yaml" if name.startswith("tool_") else self.root / f"{name}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def __call__(self, *argv: str, answers: str = "", **environ: str) -> Said:
        done = warm.run(argv, cwd=self.root, stdin=answers.encode(), environ=self.environ | environ, cold=self.cold)
        said = [stream.decode("utf-8", "surrogateescape") for stream in (done.stdout, done.stderr)]
        return Said(code=done.returncode, out=said[0], err=said[1])

    def on_terminal(self, *argv: str, answers: str = "", **environ: str) -> str:
        """What a person sees: stdin, stdout and stderr are one terminal; ``answers`` are typed when gert asks."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, *argv],
            cwd=self.root,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self.environ | {"TERM": "xterm"} | environ,
        )
        os.close(theirs)
        seen = b""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if ours in select.select([ours], [], [], 1.0)[0]:
                try:
                    data = os.read(ours, 65536)
                except OSError:
                    break
                if not data:
                    break
                seen += data
                if answers and b"? " in seen:
                    os.write(ours, answers.encode())
                    answers = ""
        os.close(ours)
        process.wait(10)
        return seen.decode("utf-8", "surrogateescape")

    def runs(self) -> list[Path]:
        return sorted((self.root / "runs").glob("[!.]*")) if (self.root / "runs").is_dir() else []

    def run(self) -> Path:
        (only,) = self.runs()
        return only

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run() / "trace.jsonl").read_text().splitlines()]


__all__ = ["Gert", "Said"]
