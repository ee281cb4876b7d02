"""gert as people run it: separate processes in a directory of their own, with stand-in programs on PATH."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import warm

if TYPE_CHECKING:
    from faulty import Faulty


def chain_is_whole(trace: Path) -> bool:
    """An independent check of the chain that uses nothing of gert: each line names the hash of the one before it."""
    before = "0" * 64
    for line in trace.read_bytes().splitlines():
        if json.loads(line)["prev_hash"] != before:
            return False
        before = hashlib.sha256(line).hexdigest()
    *_, last = trace.read_bytes().splitlines()
    data = json.loads(last)["data"]
    seal = f',"chain_hash":"{data["chain_hash"]}"'
    if "signature" in data:
        seal += f',"signature":"{data["signature"]}"'
    bare = last.decode().replace(seal + "},", "},", 1)
    return hashlib.sha256(bare.encode()).hexdigest() == data["chain_hash"]


def alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and was not collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_for(condition: Any, seconds: float = 60.0) -> Any:
    """Wait until a condition holds and give its value; fails when it never does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("it never happened")


@dataclass(slots=True)
class Shell:
    """A directory with runbooks, tools and programs."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    server: Faulty | None = None
    """Forks each gert from a warm process, which is much faster."""
    cold: bool = False
    """Whether each gert is started as people do, where the forks of ``warm`` differ."""

    def __post_init__(self) -> None:
        (self.root / "bin").mkdir()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        self.environ = {**clean, "PATH": f"{self.root / 'bin'}:{clean['PATH']}", "GERT_ACTOR": "olga"}

    def write(self, name: str, text: str) -> Path:
        """Write a file; text is dedented."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def program(self, name: str, text: str) -> Path:
        """Put a shell script on PATH (or any script that names its interpreter)."""
        text = dedent(text).lstrip("\n")
        path = self.write(f"bin/{name}", text if text.startswith("#!") else "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def book(self, steps: str, *, tools: str = "", meta: str = "") -> Path:
        """A runbook called ``book.yaml`` that ends in a step ``done`` unless it ends by itself."""
        body = "\n".join(f"  {line}" for line in dedent(steps).strip("\n").splitlines())
        head = "\n".join(f"  {line}" for line in dedent(meta).strip("\n").splitlines())
        done = (
            "" if "type: end" in steps else "  - { id: done, type: end, outcome: { category: resolved, code: ok } }\n"
        )
        path = self.root / "book.yaml"
        path.write_text(f"apiVersion: kernel/v0\nmeta:\n  name: book\n{head}\ntools: [{tools}]\nsteps:\n{body}\n{done}")
        return path

    def tool(
        self, name: str, argv: str, *, contract: str = "{ effects: [network], idempotent: true }", more: str = ""
    ) -> None:
        """A tool with one action ``do``."""
        more = "\n".join(f"    {line}" for line in dedent(more).strip("\n").splitlines())
        text = f"apiVersion: tool/v0\nmeta: {{ name: {name}, transport: stdio }}\ncontract: {contract}\n"
        text += f"actions:\n  do:\n    argv: {argv}\n{more}\n"
        path = self.root / "tools" / f"{name}.tool.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def command(self, *args: str) -> list[str]:
        """The command line of gert."""
        return [sys.executable, "-m", "gert_core", *args]

    def gert(
        self, *args: str, code: int | None = 0, stdin: str | None = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run gert to its end; ``stdin`` None closes nothing and gives nothing."""
        if self.server is not None and not stdin:
            forked = self.server(*args, environ={**self.environ, **environ}, cwd=self.root)
            done = subprocess.CompletedProcess(args, forked.code, forked.out, forked.err)
        else:
            said = warm.run(
                args, cwd=self.root, stdin=(stdin or "").encode(), environ={**self.environ, **environ}, cold=self.cold
            )
            done = subprocess.CompletedProcess(args, said.returncode, said.stdout.decode(), said.stderr.decode())
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def json(self, *args: str, code: int | None = 0, **options: Any) -> dict[str, Any]:
        """Run gert with ``--json``; standard output must be exactly one document."""
        value: dict[str, Any] = json.loads(self.gert(*args, "--json", code=code, **options).stdout)
        return value

    def start(self, *args: str, stdin: int = subprocess.DEVNULL, **environ: str) -> subprocess.Popen[str]:
        """Start gert and go on; ``communicate`` gives what it said."""
        return subprocess.Popen(
            self.command(*args),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=stdin,
            text=True,
            cwd=self.root,
            env={**self.environ, **environ},
        )

    def runs(self) -> list[Path]:
        """The run directories, oldest first."""
        root = self.root / "runs"
        return sorted(one for one in root.iterdir() if not one.name.startswith(".")) if root.is_dir() else []

    def trace(self) -> Path:
        """The trace of the newest run."""
        # Ids have the second only: two runs of one second are told apart by when their traces were begun or written.
        traces = [run / "trace.jsonl" for run in self.runs()]
        return max(traces, key=lambda file: file.stat().st_mtime_ns if file.exists() else 0)

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The events of the newest run."""
        found = [json.loads(line) for line in self.trace().read_text().splitlines()]
        return [event for event in found if not types or event["type"] in types]
