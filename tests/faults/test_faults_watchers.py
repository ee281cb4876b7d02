"""Who watches a run may go away at any time: its steps, its record and its result are the same."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gertproc import COMMAND, Gert

from gert_core.runs.fold import fold
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable

BOOK = """\
apiVersion: kernel/v0
meta: { name: watched }
tools: [mark]
steps:
  - { id: first, type: tool, tool: mark, inputs: { name: first } }
  - id: pick
    type: branch
    branches:
      - condition: default
        steps:
          - { id: second, type: tool, tool: mark, inputs: { name: second } }
          - id: both
            type: parallel
            branches:
              - steps: [ { id: left, type: tool, tool: mark, inputs: { name: left } } ]
              - steps: [ { id: right, type: tool, tool: mark, inputs: { name: right } } ]
  - id: rounds
    type: repeat
    repeat: { max: 2, until: "{{ false }}" }
    steps: [ { id: again, type: tool, tool: mark, inputs: { name: again } } ]
  - { type: end, outcome: { category: resolved } }
"""
MARK = """\
apiVersion: tool/v0
meta: { name: mark }
contract: { effects: [host], writes: [], idempotent: true, inputs: { name: { type: string } } }
actions: { run: { argv: [sh, -c, "sleep 0.05; echo $0 >> marks", "{{ .name }}"] } }
"""
MARKS = ["again", "again", "first", "left", "right", "second"]


def _gone_pipe() -> int:
    read_end, write_end = os.pipe()
    os.close(read_end)
    return write_end


def _gone_terminal() -> int:
    ours, theirs = pty.openpty()
    os.close(ours)
    return theirs


def _full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


@pytest.fixture
def gert(tmp_path) -> Gert:
    gert = Gert(tmp_path)
    gert.write(book=BOOK, tool_mark=MARK)
    return gert


@pytest.mark.parametrize("watcher", [_gone_pipe, _gone_terminal, _full_disk])
def test_a_run_completes_although_its_progress_cannot_be_shown(gert, watcher: Callable[[], int]):
    stderr = watcher()
    done = subprocess.run(
        [*COMMAND, "exec", "book.yaml"],
        cwd=gert.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=gert.environ,
        timeout=60,
        check=False,
    )
    os.close(stderr)
    assert _completed(gert)
    assert "Outcome: resolved" in done.stdout.decode()
    assert done.returncode == 0


def test_a_run_completes_although_its_reader_leaves_after_the_first_line(gert):
    command = f"{' '.join(COMMAND)} exec book.yaml 2>&1 | head -1"
    subprocess.run(["/bin/sh", "-c", command], cwd=gert.root, env=gert.environ, timeout=60, check=True)
    assert _completed(gert)


def test_a_resumed_run_goes_on_although_its_progress_cannot_be_shown(gert):
    assert gert("exec", "book.yaml").code == 0
    trace = gert.run() / "trace.jsonl"
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[: len(lines) // 2]))
    stderr = _gone_pipe()
    argv = [*COMMAND, "resume", "--run", gert.run().name]
    done = subprocess.run(argv, cwd=gert.root, stderr=stderr, env=gert.environ, timeout=60, check=False)
    os.close(stderr)
    assert done.returncode == 0
    assert fold(read(trace)).status == "completed"


@pytest.mark.parametrize(("stdout", "code"), [(_gone_pipe, 141), (_full_disk, 1)])
def test_a_dry_run_whose_result_cannot_be_written_says_so(gert, stdout: Callable[[], int], code: int):
    target = stdout()
    done = subprocess.run(
        [*COMMAND, "exec", "book.yaml", "--mode", "dry-run"],
        cwd=gert.root,
        stdout=target,
        stderr=subprocess.PIPE,
        env=gert.environ,
        timeout=60,
        check=False,
    )
    os.close(target)
    assert done.returncode == code
    assert (b"the output cannot be written" in done.stderr) == (code == 1)
    assert b"Traceback" not in done.stderr


def _completed(gert: Gert) -> bool:
    state = fold(read(gert.run() / "trace.jsonl"))
    assert (state.status, state.failure) == ("completed", None)
    assert sorted(Path(gert.root, "marks").read_text().split()) == MARKS, "each step ran once"
    assert gert("trace", "verify", str(gert.run() / "trace.jsonl")).code == 0
    return True
