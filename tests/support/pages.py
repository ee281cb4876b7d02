"""Reads pages of documentation and does what they say: writes the files they show and runs the commands.

A fenced block with ``title="NAME"`` (or a first line ``# file: NAME``) is a file. A ``console`` block is a session:
lines after ``$ `` are commands, the lines below one must appear in what it prints, in that order; ``...`` stands for
anything. A command must succeed unless the next one is ``$ echo $?``. Run ids and tickets in commands stand for those
that were printed last; a list of several changes nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

RUN = r"\d{8}T\d{6}Z-[a-z0-9_.-]+-[0-9a-f]{8}"
TICKET = r"t-[0-9a-f]{20}"
_FENCE = re.compile(r"^( *)(`{3,})([A-Za-z]*)(.*)$")
_VARIABLE = (
    (re.compile(r" \(waited [^)]*\)"), ""),  # on a machine that is busy with other things
    (re.compile(r"\S*/runs/" + RUN), "RUNS/RUN"),
    (re.compile(r"\b(file|sqlite):/\S*/"), r"\1:"),
    (re.compile(RUN), "RUN"),
    (re.compile(TICKET), "TICKET"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[0-9:.]+Z"), "WHEN"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b\d+(\.\d+)?( ?ms|s)\b( \(\d+:\d\d:\d\d\))?"), "TIME"),  # pytest repeats a minute and more
    (re.compile(r"\b\d+m\s*$"), "TIME"),  # the age of a run where commands take that long
    (re.compile(r"\b\d+ events\b"), "N events"),
    (re.compile(r"\bevent \d+\b"), "event N"),
    (re.compile(r"used_percent(\s*[:=]\s*)\d+"), r"used_percent\1N"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it shows if any, its text and its line in the page."""

    language: str
    file: str | None
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page."""
    found: list[Block] = []
    opened: tuple[str, str, str, int] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened, body = (fence[2], fence[3], fence[4], number), []
        elif fence and fence[2] == opened[0] and not fence[3]:
            found.append(_block(opened, body))
            opened = None
        else:
            body.append(line)
    assert opened is None, f"{page}: the block of line {opened} is not closed"
    return found


def _block(opened: tuple[str, str, str, int], body: list[str]) -> Block:
    _, language, more, line = opened
    titled = re.search(r'title="([^"]+)"', more)
    file = titled[1] if titled else None
    named = re.match(r"# file: (\S+)$", body[0]) if body and file is None else None
    if named:
        file = named[1]
    return Block(language=language, file=file, text="\n".join(body) + "\n", line=line)


@dataclass
class Session:
    """A shell in a directory of its own that has gert, and a ``pip`` that knows only ``install -e``."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    status: int = 0
    run: str = ""
    ticket: str = ""

    def __post_init__(self) -> None:
        tools, site = self.home / ".bin", self.home / ".site"
        tools.mkdir(parents=True)
        site.mkdir()
        _program(tools / "gert", 'exec "$PYTHON" -m gert_core "$@"')
        _program(tools / "python", 'exec "$PYTHON" "$@"')
        _program(tools / "pytest", 'exec "$PYTHON" -m pytest -q -p no:cacheprovider "$@"')
        _program(tools / "pip", f'exec "$PYTHON" {shlex.quote(str(Path(__file__).with_name("editable.py")))} "$@"')
        self.work = self.home / "work"
        self.work.mkdir()
        self.cwd = self.work
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GERT_", "PYTEST_"))}
        self.environ = {
            **kept,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",  # stdout and stderr share a pipe here: lines in the order they were said
            "PYTHON": sys.executable,
            "PYTHONPATH": str(site),
            "SITE": str(site),
            "HOME": str(self.home),
            "NO_COLOR": "1",
        }

    def write(self, block: Block) -> Path:
        """Write the file a block shows."""
        assert block.file is not None
        target = self.cwd / block.file
        assert target.resolve().is_relative_to(self.home)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")
        return target

    def play(self, block: Block) -> None:
        """Run the commands of a ``console`` block and compare what they print."""
        commands = _commands(block.text)
        for number, (command, expected) in enumerate(commands):
            said = self.run_command(command)
            asked = number + 1 < len(commands) and commands[number + 1][0] == "echo $?"
            assert self.status == 0 or asked, f"{command}\nexit code {self.status}\n{said}"
            _compare(command, expected, said)

    def run_command(self, command: str) -> str:
        """Run a command and return all it prints; ``status`` is how it ended."""
        if self.run:
            command = re.sub(RUN, self.run, command)
        if self.ticket:
            command = re.sub(TICKET, self.ticket, command)
        # A page is one session: where it went and what it exported stay.
        keep = '; status=$?; { pwd; env -0; } > "$HOME/.kept"; exit $status'
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status}); {command}\n{keep.removeprefix('; ')}"],
            cwd=self.cwd,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        where, _, exported = (self.home / ".kept").read_bytes().partition(b"\n")
        self.cwd = Path(where.decode())
        self.environ = dict(pair.split("=", 1) for pair in exported.decode().split("\0") if "=" in pair)
        self.status = done.returncode
        self.run = _only(re.findall(RUN, done.stdout), self.run)
        self.ticket = _only(re.findall(TICKET, done.stdout), self.ticket)
        return done.stdout


def _only(found: list[str], before: str) -> str:
    return found[0] if len(set(found)) == 1 else before


def _program(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def _commands(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    continued = False
    for line in text.splitlines():
        if continued:
            found[-1] = (f"{found[-1][0]}\n{line.removeprefix('> ')}", [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"output before any command: {line}"
            found[-1][1].append(line)
            continue
        continued = line.endswith("\\")
    return found


def normal(line: str) -> str:
    """A line without what differs from run to run."""
    for pattern, word in _VARIABLE:
        line = pattern.sub(word, line)
    return " ".join(line.split())


def _compare(command: str, expected: list[str], said: str) -> None:
    wanted = [normal(line) for line in expected if line.strip() and line.strip() != "..."]
    lines = iter([normal(line) for line in said.splitlines()])
    for line in wanted:
        assert any(line == other for other in lines), f"{command}\ndoes not print {line!r} here, but:\n{said}"


__all__ = ["RUN", "Block", "Session", "blocks", "normal"]
