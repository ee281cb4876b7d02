"""Runs of a process that cannot start threads: every step is executed once, recorded, and ended before the next.

The limits are real. A thread's stack is as large as ``RLIMIT_STACK`` and must fit into ``RLIMIT_AS``, so with a large
stack none or only a few threads can be started, for root too; processes are not affected.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from shell import Shell, alive, chain_is_whole, wait_for

from gert_core.testing.fake_dist import FakeDist

MIB = 1024 * 1024
NONE = (16 * 1024 * MIB, 8 * 1024 * MIB)
"""Stack and address space: no thread fits."""
FEW = (1024 * MIB, 4 * 1024 * MIB)
"""Two or three threads fit."""
PARALLEL = """
- id: both
  type: parallel
  branches:
    - steps: [{ id: one, type: tool, tool: nap, inputs: { n: one } }]
    - steps: [{ id: two, type: tool, tool: nap, inputs: { n: two } }]
    - steps: [{ id: three, type: tool, tool: nap, inputs: { n: three } }]
    - steps: [{ id: four, type: tool, tool: nap, inputs: { n: four } }]
    - steps: [{ id: five, type: tool, tool: nap, inputs: { n: five } }]
    - steps: [{ id: six, type: tool, tool: nap, inputs: { n: six } }]
- { id: after, type: tool, tool: nap, inputs: { n: after } }
"""
LOOP = """
- { id: each, type: tool, tool: nap, inputs: { n: "{{ .n }}" },
    for_each: { over: [one, two, three, four, five, six], as: n, parallel: true } }
- { id: after, type: tool, tool: nap, inputs: { n: after } }
"""
NAMES = ["one", "two", "three", "four", "five", "six"]


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("nap", 'echo "begin $1 $$" >> log; sleep 0.2; echo "end $1 $$" >> log\n')
    made.tool(
        "nap",
        '["nap", "{{ .n }}"]',
        contract="{ effects: [network], idempotent: true, inputs: { n: { type: string } } }",
    )
    return made


def limited(limits: tuple[int, int], command: list[str]) -> list[str]:
    """Return a command line that has these limits."""
    code = (
        "import os, resource, sys; stack, space = map(int, sys.argv[1:3]); "
        "resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.RLIM_INFINITY)); "
        "resource.setrlimit(resource.RLIMIT_AS, (space, space)); os.execv(sys.argv[3], sys.argv[3:])"
    )
    return [sys.executable, "-c", code, *map(str, limits), *command]


def start(shell: Shell, limits: tuple[int, int], *args: str) -> subprocess.Popen:
    return subprocess.Popen(
        limited(limits, shell.command(*args)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=shell.root,
        env=shell.environ,
    )


def finished(running: subprocess.Popen, code: int) -> dict:
    try:
        out, err = running.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        running.kill()
        pytest.fail(str(running.communicate()))
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert running.returncode == code, out + err
    return json.loads(out)


def test_the_limits_do_what_this_module_needs():
    code = "import threading; threading.Thread(target=print).start()"
    for limits, refused in ((NONE, True), (FEW, False)):
        done = subprocess.run(limited(limits, [sys.executable, "-c", code]), capture_output=True, check=False)
        assert (b"can't start new thread" in done.stderr) is refused


@pytest.mark.parametrize("limits", [NONE, FEW], ids=["none", "few"])
@pytest.mark.parametrize("steps", [PARALLEL, LOOP], ids=["parallel", "for_each"])
def test_branches_share_the_threads_there_are(shell, steps, limits):
    shell.book(steps, tools="nap")
    result = finished(start(shell, limits, "exec", "book.yaml", "--json"), 0)
    assert result["status"] == "completed"
    log = [line.split() for line in (shell.root / "log").read_text().splitlines()]
    assert sorted(name for what, name, _ in log if what == "end") == sorted([*NAMES, "after"])
    assert [(what, name) for what, name, _ in log[-2:]] == [("begin", "after"), ("end", "after")]
    ended = [e["step_key"] for e in shell.events("step_complete") if e["step_key"] not in ("both", "each", "done")]
    assert len(ended) == len(set(ended)) == 7
    assert chain_is_whole(shell.trace())
    assert not any(alive(int(pid)) for _, _, pid in log)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_without_threads_can_be_cancelled(shell, number, code):
    shell.program("nap", "echo $$ > pid.tmp; mv pid.tmp pid; sleep 60\n")
    shell.book(PARALLEL, tools="nap")
    running = start(shell, NONE, "exec", "book.yaml", "--json")
    wait_for((shell.root / "pid").exists)
    running.send_signal(number)
    assert finished(running, code)["status"] == "cancelled"
    assert not alive(int((shell.root / "pid").read_text()))
    assert shell.events()[-1]["data"]["reason"] == signal.Signals(number).name


def test_a_wait_without_threads_can_be_cancelled(shell):
    """Nothing but the signal wakes a step that sleeps."""
    FakeDist(directory=shell.root / "site").add("gert-step-snooze", SNOOZE)
    shell.environ["PYTHONPATH"] = str(shell.root / "site")
    shell.book("- { id: a, type: snooze }")
    running = start(shell, NONE, "exec", "book.yaml", "--json")
    wait_for((shell.root / "asleep").exists)
    running.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert finished(running, 143)["status"] == "cancelled"
    assert time.monotonic() - began < 5


def test_a_second_interrupt_without_threads_kills_at_once(shell):
    shell.program("nap", "trap '' TERM; echo $$ > pid.tmp; mv pid.tmp pid; while :; do sleep 0.1; done\n")
    shell.book(PARALLEL, tools="nap")
    running = start(shell, NONE, "exec", "book.yaml")
    wait_for((shell.root / "pid").exists)
    running.send_signal(signal.SIGINT)
    time.sleep(0.5)
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=15)
    assert time.monotonic() - began < 3
    assert running.returncode == 130
    pid = int((shell.root / "pid").read_text())
    wait_for(lambda: not alive(pid), 3)


def test_a_server_that_cannot_be_attended_is_an_error_of_its_step(shell):
    shell.program("serve", "echo $$ > pid; exec sleep 60\n")
    shell.write(
        "tools/serve.tool.yaml",
        """\
        apiVersion: tool/v0
        meta: { name: serve, transport: jsonrpc, binary: serve }
        contract: { effects: [network], idempotent: true }
        actions: { do: { method: do } }
        """,
    )
    shell.book("- { id: a, type: tool, tool: serve }", tools="serve")
    result = finished(start(shell, NONE, "exec", "book.yaml", "--json"), 1)
    assert result["failure"]["kind"] == "spawn"
    assert "thread" in result["failure"]["message"]
    if (pid := shell.root / "pid").exists():
        assert not alive(int(pid.read_text()))


def test_a_terminal_without_threads_shows_every_step(shell):
    shell.book(LOOP, tools="nap")
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        limited(NONE, shell.command("exec", "book.yaml")),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=shell.root,
        env={**shell.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    while chunk := _read(ours):
        seen += chunk
    os.close(ours)
    assert running.wait(30) == 0, seen.decode()
    assert seen.count(b" each[") == 6
    assert b"Traceback" not in seen


def test_observers_without_a_thread_are_dropped_and_the_run_goes_on(shell):
    FakeDist(directory=shell.root / "site").add("gert-watch-all", WATCHER)
    shell.environ["PYTHONPATH"] = str(shell.root / "site")
    shell.book("- { id: a, type: tool, tool: nap, inputs: { n: a } }", tools="nap")
    running = start(shell, NONE, "exec", "book.yaml", "--json")
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, out + err
    assert "no thread" in err
    assert json.loads(out)["status"] == "completed"


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


SNOOZE = """
from pathlib import Path

from gert_core import hookimpl
from gert_core.api import Completed, StepType
from gert_core.kit.models import StepModel

class Snooze(StepModel):
    pass

def run(step, ctx):
    Path("asleep").touch()
    ctx.sleep(60)
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="snooze", model=Snooze, run=run)]
"""
WATCHER = """
from gert_core import hookimpl

@hookimpl
def gert_trace_event(event):
    pass
"""
