"""What others write to the terminal while a run is drawn: nothing is lost or overwritten, and the block stays below."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from screens import OnScreen
from shell import Shell

if TYPE_CHECKING:
    from gert_core.testing.fake_dist import FakeDist

STEP = """
import logging, os, subprocess, sys, time, warnings
from pathlib import Path
from pydantic import Field
from gert_core import hookimpl
from gert_core.api import PURE, Completed, StepType
from gert_core.kit.models import StepModel

logging.basicConfig(format="%(levelname)s %(message)s")

class Noisy(StepModel):
    secret: str = Field(default="", description="Something to print.")

def run(step, ctx):
    while not Path("noise").exists():
        time.sleep(0.02)
    print("PRINTED one")
    print("PRINTED two", file=sys.stderr)
    sys.stderr.write("PRINTED in "); sys.stderr.flush(); sys.stderr.write("two parts\\n")
    sys.stdout.buffer.write(b"PRINTED bytes\\n"); sys.stdout.buffer.flush()
    logging.getLogger("acme").warning("LOGGED by a handler of its own")
    logging.getLogger("gert.acme").debug("LOGGED for debugging")
    warnings.warn("WARNED of something", stacklevel=1)
    os.write(1, b"DESCRIPTOR 1\\n"); os.write(2, b"DESCRIPTOR 2\\n")
    subprocess.run(["sh", "-c", "echo PROGRAM out; echo PROGRAM err >&2"], check=True)
    sys.stderr.write("BAR 10%\\rBAR 100%\\n")
    sys.stderr.write("CLEAR \\x1b[2J\\x1b[H\\x07 LEAK " + step.secret + "\\n")
    sys.stderr.write("WIDE " + "w" * 150 + " END\\n")
    sys.stderr.write("UNFINISHED"); sys.stderr.flush()
    while not Path("go").exists():
        time.sleep(0.02)
    print("LAST words")
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="noisy", model=Noisy, run=run, contract=PURE, summary="Writes to the terminal.")]
"""
WRITTEN = [
    *("PRINTED one", "PRINTED two", "PRINTED in two parts", "PRINTED bytes"),
    *("WARNING LOGGED by a handler of its own", "debug gert.acme: LOGGED for debugging"),
    *("DESCRIPTOR 1", "DESCRIPTOR 2", "PROGRAM out", "PROGRAM err", "BAR 100%"),
    *(r"CLEAR \u001b[2J\u001b[H\u0007 LEAK <REDACTED:pw>", "UNFINISHED"),
]


@pytest.fixture
def shell(tmp_path, fake_dist: FakeDist) -> Shell:
    fake_dist.add("gert-step-noisy", STEP)
    shell = Shell(tmp_path)
    shell.environ |= {"PYTHONPATH": str(fake_dist.directory), "NO_COLOR": "1", "GERT_LOG": "debug"}
    shell.tool("hold", '["sh", "-c", "echo working; for _ in $(seq 600); do test -e go && break; sleep 0.05; done"]')
    book = """
    - id: fork
      type: parallel
      branches:
        - { steps: [ { id: hold, type: tool, tool: hold } ] }
        - { steps: [ { id: loud, type: noisy, secret: "{{ .pw }}" } ] }
    """
    shell.book(book, tools="hold", meta="inputs: { pw: { secret: true } }")
    return shell


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 50), (30, 9)])
def test_what_others_write_stands_above_the_block(shell, columns, rows):
    command = shell.command("exec", "book.yaml", "--var", "pw=sesame-open-77")
    with OnScreen(command, cwd=shell.root, environ=shell.environ, columns=columns, rows=rows) as seen:
        seen.until(lambda s: "2 running" in str(s.block)).frames(1)
        (shell.root / "noise").touch()
        seen.until(lambda s: any("UNFINISHED" in line for line in s.everything)).frames(3)
        most = min(10, rows // 3)
        assert len(seen.block) == min(3, most), seen.lines
        assert seen.lines[-len(seen.block) :] == seen.block, "the block is the last thing on the screen"
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0, seen.everything
    shown = squeezed("".join(seen.everything))  # a narrow terminal wraps lines
    for text in [*WRITTEN, "UserWarning: WARNED of something", "LAST words", "w" * 150, "resolved (ok)"]:
        assert shown.count(squeezed(text)) == 1, (text, seen.everything)
    assert sum("running" in line for line in seen.everything) == 0, "no part of a block is left"
    assert b"\x1b[2J" not in seen.raw
    assert b"sesame" not in seen.raw


def test_a_question_is_asked_on_the_terminal_although_others_write(shell):
    book = (shell.root / "book.yaml").read_text()
    asked = '- { steps: [ { id: ask, type: manual, instructions: "Look at the lamp" } ] }'
    (shell.root / "book.yaml").write_text(
        book.replace("- { steps: [ { id: hold", f"{asked}\n      - {{ steps: [ {{ id: hold")
    )
    command = shell.command("exec", "book.yaml", "--var", "pw=sesame-open-77")
    with OnScreen(command, cwd=shell.root, environ=shell.environ) as seen:
        seen.until(lambda s: "lamp" in str(s.lines))
        (shell.root / "noise").touch()
        time.sleep(0.3)  # what is written during the dialogue is kept until it is over
        asked = seen.frames(0).lines
        assert not any("PRINTED" in line for line in asked)
        seen.type("\n")
        seen.until(lambda s: any("UNFINISHED" in line for line in s.everything)).frames(2)
        assert [line for line in asked if line in seen.everything] == asked
        (shell.root / "go").touch()
        seen.end()
    assert seen.code == 0
    assert sum("PRINTED one" in line for line in seen.everything) == 1


def test_where_results_go_elsewhere_nothing_is_caught(shell):
    """A terminal for standard error alone: standard output is a file, and has the result only."""
    (shell.root / "noise").touch()
    (shell.root / "go").touch()
    words = " ".join(shell.command("exec", "book.yaml", "--var", "pw=sesame-open-77", "--json"))
    with OnScreen(["sh", "-c", f"{words} > result.json"], cwd=shell.root, environ=shell.environ) as seen:
        seen.end()
    assert seen.code == 0
    assert (shell.root / "result.json").read_text().startswith('{"run_id"')
    assert "PRINTED one" in seen.everything
