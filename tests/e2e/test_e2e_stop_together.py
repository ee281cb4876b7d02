"""Signals that reach gert and its tools at the same time, as service managers and terminals send them."""

from __future__ import annotations

import ctypes
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shell import Shell, alive, chain_is_whole, wait_for

SERVER = f"""#!{sys.executable}
import json, os, sys, time
open("pids.tmp", "w").write(str(os.getpid()))
os.rename("pids.tmp", "pids")
for line in sys.stdin:
    time.sleep(60)
"""
RPC = """\
apiVersion: tool/v0
meta: { name: hang, transport: jsonrpc, binary: hang }
contract: { effects: [network], idempotent: true }
actions: { do: { method: do } }
"""
BOTH = [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("hang", "echo $$ > pids.tmp; mv pids.tmp pids; exec sleep 60\n")
    made.tool("hang", '["hang"]')
    made.book("- { id: a, type: tool, tool: hang }", tools="hang")
    return made


def tool_pid(shell: Shell) -> int:
    wait_for((shell.root / "pids").exists)
    return int((shell.root / "pids").read_text())


def end_both(shell: Shell, number: int, *, pause: float) -> tuple[int, str]:
    """Signal the tool, then gert a moment later; return gert's exit code and what it said."""
    running = shell.start("exec", "book.yaml")
    pid = tool_pid(shell)
    time.sleep(0.1)  # the tool has the default handlers once it sleeps
    os.kill(pid, number)
    time.sleep(pause)
    running.send_signal(number)
    out, err = running.communicate(timeout=15)
    assert not alive(pid)
    return running.returncode, out + err


@pytest.mark.parametrize("pause", [0.0, 0.15])
@pytest.mark.parametrize(("number", "code"), BOTH)
def test_a_tool_that_is_stopped_together_with_gert_is_not_a_failure(shell, number, code, pause):
    exit_code, said = end_both(shell, number, pause=pause)
    assert exit_code == code, said
    assert shell.events("step_complete") == []
    last = shell.events()[-1]["data"]
    assert (last["status"], last["reason"]) == ("cancelled", signal.Signals(number).name)
    assert chain_is_whole(shell.trace())


@pytest.mark.parametrize(("number", "code"), BOTH)
def test_a_server_that_is_stopped_together_with_gert_is_not_a_failure(shell, number, code):
    shell.program("hang", SERVER)
    shell.write("tools/hang.tool.yaml", RPC)
    exit_code, said = end_both(shell, number, pause=0.15)
    assert exit_code == code, said
    assert shell.events("step_complete") == []
    assert shell.events()[-1]["data"]["status"] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_tool_that_is_stopped_alone_has_failed(shell, number):
    running = shell.start("exec", "book.yaml")
    os.kill(tool_pid(shell), number)
    began = time.monotonic()
    running.communicate(timeout=15)
    assert running.returncode == 1
    assert time.monotonic() - began < 4
    (failed,) = shell.events("step_complete")
    assert failed["data"]["failure"]["kind"] == "exit_code"
    assert signal.Signals(number).name in failed["data"]["failure"]["message"]


def test_a_signal_that_does_not_interrupt_the_wait_for_a_tool_is_handled(shell):
    """The kernel may give a signal to any thread, or right before the main thread begins to wait."""
    running = shell.start("exec", "book.yaml")
    tool_pid(shell)
    threads = wait_for(lambda: [int(t.name) for t in Path(f"/proc/{running.pid}/task").iterdir()][1:])
    assert ctypes.CDLL(None).tgkill(running.pid, threads[0], signal.SIGINT) == 0
    running.communicate(timeout=8)
    assert running.returncode == 130
    assert shell.events()[-1]["data"]["reason"] == "SIGINT"


# -- a terminal that goes away -----------------------------------------------------------------------------------------


def test_a_hangup_cancels_the_run(shell):
    running = shell.start("exec", "book.yaml", "--json")
    pid = tool_pid(shell)
    running.send_signal(signal.SIGHUP)
    running.communicate(timeout=15)
    assert running.returncode == 129
    assert not alive(pid)
    assert shell.events()[-1]["data"]["reason"] == "SIGHUP"


def test_a_hangup_that_is_ignored_stays_ignored(shell):
    """``nohup gert exec`` goes on when the terminal is closed."""
    shell.program("hang", "echo $$ > pids.tmp; mv pids.tmp pids; exec sleep 1\n")
    ignore = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    running = subprocess.Popen(
        [sys.executable, "-c", ignore, *shell.command("exec", "book.yaml")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.root,
        env=shell.environ,
    )
    tool_pid(shell)
    running.send_signal(signal.SIGHUP)
    running.communicate(timeout=15)
    assert running.returncode == 0
    assert shell.events()[-1]["data"]["status"] == "completed"


def on_closed_terminal(shell: Shell, event: str) -> int:
    """Run gert on a terminal that is closed once an event is written; return its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(shell.root)
        os.execve(sys.executable, shell.command("exec", "book.yaml"), shell.environ)
    wait_for(lambda: shell.runs() and shell.trace().exists() and event in shell.trace().read_text())
    time.sleep(0.2)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    "steps", ["- { id: a, type: tool, tool: hang }", "- { id: a, type: manual, instructions: look }"]
)
def test_a_terminal_that_is_closed_cancels_the_run(shell, steps):
    """The kernel sends HUP to the foreground, and everything written afterwards fails."""
    shell.book(steps, tools="hang")
    assert on_closed_terminal(shell, '"step_start"') == 129
    last = shell.events()[-1]["data"]
    assert (last["status"], last["reason"]) == ("cancelled", "SIGHUP")
    assert chain_is_whole(shell.trace())


def test_a_terminal_that_is_closed_rejects_nothing(shell):
    shell.book(
        "- { id: a, type: tool, tool: hang }",
        tools="hang",
        meta="governance: { rules: [{ default: require-approval }] }",
    )
    assert on_closed_terminal(shell, '"approval_submitted"') == 129
    assert shell.events("approval_response", "approval_resolved") == []
    assert shell.events()[-1]["data"]["status"] == "cancelled"
