"""A run with one approved step, and what is done to it: shared by the tests about what an approval is bound to."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from gertproc import Gert

if TYPE_CHECKING:
    from pathlib import Path

TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: ./act}
contract: {inputs: {what: {type: string}}, effects: [danger], writes: [production]}
actions: {run: {argv: [act, "{{ .what }}"], stdin: "quiet"}}
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: bound
  inputs: {what: {type: string, default: one}}
  governance: {rules: [{effects: [danger], action: require-approval, exclude_actor: EXCLUDE}]}
tools: [act]
steps:
  - {id: act, type: tool, tool: act, inputs: {what: "{{ .what }}"}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
PROGRAM = '#!/bin/sh\ncat - > given; echo "$1" >> acted; exit CODE\n'


def bound_gert(root: Path) -> Gert:
    """Return gert in a project with the step, its tool and its program."""
    made = Gert(root)
    program(made)
    made.write(tool_act=TOOL, book=BOOK.replace("EXCLUDE", "false"))
    return made


def program(gert: Gert, text: str = PROGRAM, code: int = 0) -> None:
    file = gert.root / "act"
    file.write_text(text.replace("CODE", str(code)))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def pending(gert: Gert, *argv: str) -> str:
    """Start or resume a run until it waits; return its ticket."""
    said = gert(*(argv or ("exec", "book.yaml", "--approval", "inbox", "--as", "olga")), "--json")
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def resume(gert: Gert, *more: str) -> dict:
    return gert("resume", "--run", gert.run().name, "--json", *more).document


def of(gert: Gert, kind: str) -> list[dict]:
    return [event["data"] for event in gert.events() if event["type"] == kind]


def acted(gert: Gert) -> list[str]:
    file = gert.root / "acted"
    return file.read_text().split() if file.exists() else []


def approve(gert: Gert, ticket: str, who: str = "ann") -> None:
    said = gert("approve", ticket, "--as", who)
    assert said.code == 0, said.all


def kept_aside(gert: Gert) -> tuple:
    """Return the run and a copy of it as it is now."""
    run = gert.run()
    copy = gert.root / "copy"
    shutil.copytree(run, copy)
    return run, copy


def restore(run, copy) -> None:
    shutil.rmtree(run)
    shutil.copytree(copy, run)


def kill_at(gert: Gert, word: str) -> None:
    """Resume the run and kill it when it is about to write the event."""
    killed_at(word, root=gert.root, run=gert.run().name, environ=gert.environ)


def killed_at(word: str, *, root: Path, run: str, environ: dict[str, str]) -> None:
    """Resume a run and kill it when it is about to write the event."""
    site = root / "killing"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(
        "import os, signal\nwrite_ = os.write\n"
        "def write(fd, data):\n"
        f'    at = bytes(data).find(b\'"type":"{word}"\')\n'
        "    if at < 0: return write_(fd, data)\n"
        "    write_(fd, bytes(data)[: bytes(data).rfind(b'\\n', 0, at) + 1])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.write = write\n"
    )
    path = os.pathsep.join((str(site), *filter(None, [environ.get("PYTHONPATH")])))
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "resume", "--run", run],
        cwd=root,
        env={**environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
    )
    assert done.returncode == -9, done.stderr
