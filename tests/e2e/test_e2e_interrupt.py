"""Signals and time: what was running is gone, the trace is whole, the exit code says which signal it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from shell import Shell, alive, chain_is_whole, wait_for
from unread import full_pipe

STUBBORN = "trap '' TERM INT\n"


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


def hang(
    shell: Shell, script: str = "", *, contract: str = "{ effects: [network], idempotent: true }"
) -> subprocess.Popen:
    """gert inside a program that writes its process numbers and then does not end."""
    shell.program("hang", script + 'sleep 60 & echo "$$ $!" > pids.tmp; mv pids.tmp pids; wait; wait; sleep 60\n')
    shell.tool("hang", '["hang"]', contract=contract)
    shell.book("- { id: a, type: tool, tool: hang }", tools="hang")
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "pids").exists)
    return running


def pids(shell: Shell) -> list[int]:
    return [int(word) for word in (shell.root / "pids").read_text().split()]


def ended(shell: Shell, running: subprocess.Popen, code: int, seconds: float = 15.0) -> str:
    out, err = running.communicate(timeout=seconds)
    assert running.returncode == code, out + err
    assert "Traceback" not in err
    if "Run cancelled" in out:
        assert "✗ a  tool  cancelled" in err
    wait_for(lambda: not any(alive(pid) for pid in pids(shell)), 3)
    return out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_child_and_grandchild_and_writes_the_end(shell, number, code):
    running = hang(shell)
    began = time.monotonic()
    running.send_signal(number)
    out = ended(shell, running, code)
    assert time.monotonic() - began < 4
    last = shell.events()[-1]
    assert (last["type"], last["data"]["status"], last["data"]["reason"]) == (
        "run_complete",
        "cancelled",
        signal.Signals(number).name,
    )
    assert chain_is_whole(shell.trace())
    assert "gert resume --run" in out
    assert shell.json("trace", "verify", str(shell.trace()))["verdict"] == "unsigned"


def test_a_child_that_ignores_term_is_killed_after_five_seconds(shell):
    running = hang(shell, STUBBORN)
    began = time.monotonic()
    running.send_signal(signal.SIGTERM)
    ended(shell, running, 143)
    assert 4 < time.monotonic() - began < 9
    assert shell.events()[-1]["data"]["status"] == "cancelled"


def test_a_second_interrupt_kills_at_once(shell):
    running = hang(shell, STUBBORN)
    running.send_signal(signal.SIGINT)
    time.sleep(0.3)
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    ended(shell, running, 130)
    assert time.monotonic() - began < 2
    assert shell.events()[-1]["data"]["status"] == "cancelled"
    assert chain_is_whole(shell.trace())


def test_a_cancelled_run_can_be_resumed(shell):
    running = hang(shell)
    running.send_signal(signal.SIGINT)
    ended(shell, running, 130)
    shell.program("hang", "echo fine")
    result = shell.json("resume", "--run", shell.runs()[-1].name)
    assert result["outcome"]["code"] == "ok"
    assert [e["data"]["reason"] for e in shell.events("step_attempt")] == ["resumed"]


STEALER = """
import asyncio, signal, time
from pathlib import Path
from gert_core import hookimpl
from gert_core.api import Completed, StepType
from gert_core.kit.models import StepModel

def run(step, ctx):
    loop = asyncio.new_event_loop()
    loop.add_signal_handler(signal.SIGUSR1, print)
    loop.close()
    Path("pids").write_text("")
    time.sleep(60)
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="steal", model=StepModel, run=run)]
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_gert_also_after_a_plugin_has_handled_signals(shell, number, code):
    shell.write("site/stealer.py", STEALER)
    shell.write("site/stealer-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: stealer\nVersion: 1\n")
    shell.write("site/stealer-1.dist-info/entry_points.txt", "[gert.v0]\nstealer = stealer\n")
    shell.book("- { id: a, type: steal }")
    running = shell.start("exec", "book.yaml", PYTHONPATH=str(shell.root / "site"))
    wait_for((shell.root / "pids").exists)
    time.sleep(0.2)
    running.send_signal(number)
    ended(shell, running, code, seconds=20)
    assert shell.events()[-1]["data"]["status"] == "cancelled"


def test_an_interrupt_while_somebody_is_asked_ends_the_run(shell):
    shell.book("- { id: m, type: manual, instructions: 'look here' }")
    read, write = os.pipe()
    running = subprocess.Popen(
        shell.command("exec", "book.yaml"),
        stdin=read,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=shell.root,
        env=shell.environ,
    )
    wait_for(lambda: shell.runs() and shell.trace().exists() and b'"step_start"' in shell.trace().read_bytes())
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=10)
    os.close(write)
    os.close(read)
    assert running.returncode == 130
    assert shell.events()[-1]["data"]["status"] == "cancelled"


def test_an_interrupt_while_an_input_is_asked_for_ends_with_130_and_no_run(shell):
    shell.book(
        "- { id: m, type: manual, instructions: look }",
        meta="inputs: { name: { type: string, required: true, from: prompt } }",
    )
    read, write = os.pipe()
    running = subprocess.Popen(
        shell.command("exec", "book.yaml"),
        stdin=read,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.root,
        env=shell.environ,
    )
    seen = b""
    while b"name" not in seen:
        seen += os.read(running.stderr.fileno(), 4096)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=10)
    os.close(write)
    os.close(read)
    assert running.returncode == 130
    assert shell.runs() == []


# -- timeouts -------------------------------------------------------------------------------------------------------------


def test_a_step_may_only_shorten_the_time_of_its_tool(shell):
    shell.program("slow", 'echo $$ >> pids; sleep "$1"')
    shell.tool("quick", '["slow", "30"]', more="timeout: 300ms")
    shell.tool("patient", '["slow", "30"]')
    shell.book(
        """
        - { id: by_tool, type: tool, tool: quick, timeout: 20s, continue_on_fail: true }
        - { id: by_step, type: tool, tool: patient, timeout: 300ms, continue_on_fail: true }
        """,
        tools="quick, patient",
    )
    began = time.monotonic()
    result = shell.json("exec", "book.yaml")
    assert time.monotonic() - began < 10
    assert result["status"] == "completed"
    complete = {e["step_key"]: e["data"] for e in shell.events("step_complete")}
    for key in ("by_tool", "by_step"):
        assert complete[key]["status"] == "error"
        assert complete[key]["failure"]["kind"] == "timeout"
    assert not any(alive(pid) for pid in pids(shell))


def test_a_program_in_the_background_that_holds_the_output_does_not_hold_the_run(shell):
    shell.program("fork", 'sleep 60 & echo "$! $$" > pids\necho out')
    shell.tool("fork", '["fork"]')
    shell.book("- { id: a, type: tool, tool: fork }", tools="fork")
    began = time.monotonic()
    shell.json("exec", "book.yaml")
    assert time.monotonic() - began < 8
    assert not any(alive(pid) for pid in pids(shell))


def test_a_person_who_does_not_answer_in_time_is_a_timeout(shell):
    shell.book("- { id: m, type: manual, instructions: look, timeout: 300ms }")
    read, write = os.pipe()
    running = subprocess.run(
        shell.command("exec", "book.yaml", "--json"),
        stdin=read,
        capture_output=True,
        text=True,
        cwd=shell.root,
        env=shell.environ,
        check=False,
        timeout=20,
    )
    os.close(write)
    os.close(read)
    assert running.returncode == 1
    assert json.loads(running.stdout)["failure"]["kind"] == "timeout"


SOON = """
import sys
from gert_core.cli import main
from gert_core.hosting import interrupt
from gert_core.trace import observers
interrupt.GRACE, interrupt._LAST, observers._CLOSE_TIMEOUT = 1.0, 0.2, 0.1
sys.exit(main())
"""


def test_one_signal_ends_gert_also_where_nobody_reads_what_it_tells(shell):
    shell.program("flood", "head -c 300000 /dev/zero | tr '\\0' x | fold -w 99; touch written; sleep 60\n")
    shell.tool("flood", '["flood"]', contract="{ effects: [network], idempotent: true }")
    shell.book("- { id: a, type: tool, tool: flood }", tools="flood")
    words = [sys.executable, "-c", SOON, "exec", "book.yaml", "-v", "--progress", "json"]
    unread, told = os.pipe()
    running = subprocess.Popen(words, cwd=shell.root, env=shell.environ, stdout=subprocess.DEVNULL, stderr=told)
    try:
        wait_for((shell.root / "written").exists)
        time.sleep(0.5)  # it writes until the pipe is full
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 143
        assert shell.events()[-1]["data"]["status"] == "cancelled"
    finally:
        running.kill()
        os.close(unread)
        os.close(told)


def ends_with(shell, words, streams, numbers, *, ready):
    """How a program ends whose output nobody reads, by so many signals."""
    with full_pipe() as full:
        given = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **dict.fromkeys(streams, full)}
        running = subprocess.Popen(words, cwd=shell.root, env=shell.environ, stdin=subprocess.DEVNULL, **given)
        try:
            wait_for(ready)
            for number in numbers:
                time.sleep(0.7)
                assert running.poll() is None, "it has ended before"
                running.send_signal(number)
            return running.wait(10)
        finally:
            running.kill()
            running.wait()


@pytest.mark.parametrize("streams", [("stdout",), ("stderr",), ("stdout", "stderr")], ids=" ".join)
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_one_signal_ends_gert_also_where_nobody_reads_the_result(shell, streams, more):
    shell.program("slow", "touch begun; sleep 60\n")
    shell.tool("slow", '["slow"]', contract="{ effects: [network], idempotent: true }")
    shell.book("- { id: a, type: tool, tool: slow }", tools="slow")
    words = [sys.executable, "-c", SOON, "exec", "book.yaml", *more]
    assert ends_with(shell, words, streams, [signal.SIGTERM], ready=(shell.root / "begun").exists) == 143
    assert shell.events()[-1]["data"]["status"] == "cancelled"


@pytest.mark.parametrize("verb", [["--help"], ["runs", "list"]], ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_commands_that_do_not_run_anything_too(shell, verb, number):
    code, times = (-number, 1) if number == signal.SIGTERM else (130, 2)
    words = [sys.executable, "-m", "gert_core", *verb]
    asleep = time.monotonic() + 2  # by then it waits for its reader
    streams = ("stdout", "stderr")
    assert ends_with(shell, words, streams, [number] * times, ready=lambda: time.monotonic() > asleep) == code
