"""Tools that misbehave under a real ``gert exec``: it always ends, says what was wrong, and leaves no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOL = """\
apiVersion: tool/v0
meta: {name: bad, transport: stdio, binary: sh, timeout: 30s}
contract: {inputs: {script: {type: string}}, effects: [host], writes: []}
actions:
  run: {argv: [sh, -c, "{{ .script }}"]}
"""
RUNBOOK = """\
apiVersion: kernel/v0
meta: {name: faults, inputs: {script: {type: string}, limit: {type: string, default: 30s}}}
tools: [bad]
steps:
  - {id: bad, type: tool, tool: bad, action: run, timeout: TIMEOUT, inputs: {script: "{{ .script }}"}}
  - {type: end, outcome: {category: resolved, code: done}}
"""
MARK = "echo $$ >> pids; "


class Gert:
    """A directory with the runbook; ``pids`` in it names the processes that must be gone afterwards."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tools").mkdir()
        (root / "tools" / "bad.tool.yaml").write_text(TOOL)

    def start(self, script: str, *, timeout: str = "20s", **options) -> subprocess.Popen:
        (self.root / "faults.yaml").write_text(RUNBOOK.replace("TIMEOUT", timeout))
        return subprocess.Popen(
            [sys.executable, "-m", "gert_core", "exec", "faults.yaml", "--json", "--var", f"script={script}"],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def run(self, script: str, **options) -> tuple[int, dict]:
        process = self.start(script, **options)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        return process.returncode, json.loads(out)

    def pids(self, count: int = 1) -> list[int]:
        path = self.root / "pids"
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if path.exists() and len(found := path.read_text().split()) >= count:
                return [int(pid) for pid in found]
            time.sleep(0.02)
        raise AssertionError("the tool did not start")

    def assert_nothing_left(self, count: int = 1) -> None:
        for pid in self.pids(count):
            until = time.monotonic() + 5
            while running(pid):
                assert time.monotonic() < until, f"process {pid} is still there"
                time.sleep(0.02)

    def trace_end(self) -> dict:
        (trace,) = self.root.glob("runs/*/trace.jsonl")
        return json.loads(trace.read_text().splitlines()[-1])


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


@pytest.mark.parametrize(
    ("script", "status", "kind"),
    [
        ("yes; sleep 60", "error", "output_too_large"),
        ("trap '' TERM PIPE; yes 2>/dev/null; sleep 60", "error", "output_too_large"),
        ("exec >&- 2>&-; sleep 0.3", "completed", None),
        (r"printf '\377\376\200'", "completed", None),
        ("sleep 60 & echo $! >> pids", "completed", None),
        ("sleep 60 >/dev/null 2>&1 & echo $! >> pids", "completed", None),
        ("kill -SEGV $$", "failed", "exit_code"),
    ],
)
def test_a_tool_that_misbehaves(gert, script, status, kind):
    code, result = gert.run(MARK + script)
    assert (result["status"], (result["failure"] or {}).get("kind")) == (status, kind)
    assert code == (0 if status == "completed" else 1)
    gert.assert_nothing_left()
    assert gert.trace_end()["type"] == "run_complete"


def test_a_tool_that_outlives_its_timeout_and_ignores_term(gert):
    began = time.monotonic()
    _, result = gert.run(MARK + "trap '' TERM; while :; do sleep 0.1; done", timeout="500ms")
    assert (result["status"], result["failure"]["kind"]) == ("error", "timeout")
    assert 5 < time.monotonic() - began < 15  # TERM, five seconds, KILL
    gert.assert_nothing_left()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_tool_and_the_run(gert, number, code):
    process = gert.start(MARK + "sleep 60 & echo $! >> pids; wait")
    gert.pids(2)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert json.loads(out)["status"] == "cancelled"
    gert.assert_nothing_left(2)
    assert gert.trace_end()["data"]["status"] == "cancelled"


def test_a_second_interrupt_kills_at_once(gert):
    process = gert.start(MARK + "trap '' TERM; while :; do sleep 0.1; done")
    gert.pids()
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert time.monotonic() - began < 3
    assert process.returncode == 130
    gert.assert_nothing_left()
    assert gert.trace_end()["data"]["status"] == "cancelled"


def test_whoever_starts_gert_may_ignore_its_children(gert):
    """Daemons start programs with SIGCHLD ignored; exit codes must not be lost by that."""
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    ignore = [sys.executable, "-c", f"{ignoring}; os.execv(sys.argv[1], sys.argv[1:])"]
    (gert.root / "faults.yaml").write_text(RUNBOOK.replace("TIMEOUT", "20s"))
    done = subprocess.run(
        [*ignore, sys.executable, "-m", "gert_core", "exec", "faults.yaml", "--json", "--var", "script=exit 3"],
        cwd=gert.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    result = json.loads(done.stdout)
    assert (result["status"], result["failure"]["kind"]) == ("failed", "exit_code")


def test_descriptors_of_whoever_starts_gert_stay_with_it(gert):
    read, write = os.pipe()
    script = "ls /proc/self/fd | wc -l > fds; test $(cat fds) -le 4"
    try:
        process = gert.start(script, pass_fds=(write,))
        out, _ = process.communicate(timeout=30)
    finally:
        os.close(read)
        os.close(write)
    assert json.loads(out)["status"] == "completed", (gert.root / "fds").read_text()
