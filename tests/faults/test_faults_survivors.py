"""Tools that outlive a killed gert: a resumed run waits for them, or names them and executes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shell import Shell, alive, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are recognised by /proc")
SLEEP = 'echo "begin $$" >> log; sleep %s; echo "end $$" >> log\n'
WRITES = "{ effects: [network], writes: [host], idempotent: false }"


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.tool("nap", '["nap"]')
    made.book("- { id: a, type: tool, tool: nap }", tools="nap")
    yield made
    for _, pid in log(made):
        if alive(pid):
            os.killpg(pid, signal.SIGKILL)


def log(shell: Shell) -> list[tuple[str, int]]:
    path = shell.root / "log"
    lines = path.read_text().split() if path.exists() else []
    return [(word, int(pid)) for word, pid in zip(lines[::2], lines[1::2], strict=True)]


def killed(shell: Shell) -> tuple[str, int]:
    """Kill gert while its tool runs; return the run and the process of the tool."""
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: log(shell))
    time.sleep(0.1)
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=10)
    ((_, pid),) = log(shell)
    assert alive(pid)
    return shell.runs()[0].name, pid


def test_a_resumed_run_waits_for_the_tool_that_is_still_at_work(shell):
    shell.program("nap", SLEEP % 4)
    run, pid = killed(shell)
    done = shell.gert("resume", "--run", run)
    assert f"process {pid}" in done.stderr
    assert "step a" in done.stderr
    words = [word for word, _ in log(shell)]
    assert words == ["begin", "end", "begin", "end"], "never two at a time"


def test_a_resumed_run_names_a_tool_that_does_not_end_and_executes_nothing(shell):
    shell.program("nap", SLEEP % 120)
    run, pid = killed(shell)
    before = shell.trace().read_bytes()
    error = shell.json("resume", "--run", run, code=1)["error"]
    assert error["kind"] == "still_running"
    assert f"process {pid} (nap)" in error["message"]
    assert error["message"].endswith("of step a")
    assert f"`kill {pid} " in error["hint"]
    assert shell.trace().read_bytes() == before
    assert len(log(shell)) == 1
    os.killpg(pid, signal.SIGTERM)
    shell.program("nap", SLEEP % 0)
    assert shell.json("resume", "--run", run)["status"] == "completed"


def test_a_tool_that_writes_is_waited_for_before_anybody_may_say_what_it_did(shell):
    shell.tool("nap", '["nap"]', contract=WRITES)
    shell.program("nap", SLEEP % 3)
    run, _ = killed(shell)
    assert shell.json("resume", "--run", run, code=1)["error"]["kind"] == "unknown_outcome"
    assert [word for word, _ in log(shell)] == ["begin", "end"], "it had ended when the question was asked"


def test_what_the_tool_started_is_waited_for_too(shell):
    """The program itself is gone, a process of its group is not."""
    shell.program("nap", 'echo "begin $$" >> log; (sleep 3; echo "end $$" >> log) & wait\n')
    run, pid = killed(shell)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    shell.program("nap", SLEEP % 0)
    done = shell.gert("resume", "--run", run)
    assert "step a" in done.stderr
    assert [word for word, _ in log(shell)] == ["begin", "end", "begin", "end"]


def test_every_branch_and_server_is_found(shell):
    shell.program(
        "serve",
        f"#!{sys.executable}\nimport os, sys, time\nopen('served', 'w').write(str(os.getpid()))\ntime.sleep(120)\n",
    )
    shell.write(
        "tools/serve.tool.yaml",
        """\
        apiVersion: tool/v0
        meta: { name: serve, transport: jsonrpc, binary: serve }
        contract: { effects: [network], idempotent: true }
        actions: { do: { method: do } }
        """,
    )
    shell.program("nap", SLEEP % 120)
    shell.book(
        """
        - id: all
          type: parallel
          branches:
            - steps: [{ id: one, type: tool, tool: nap }]
            - steps: [{ id: two, type: tool, tool: nap }]
            - steps: [{ id: three, type: tool, tool: serve }]
        """,
        tools="nap, serve",
    )
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: len(log(shell)) == 2 and (shell.root / "served").exists())
    time.sleep(0.2)
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=10)
    server = int((shell.root / "served").read_text())
    message = shell.json("resume", "--run", shell.runs()[0].name, code=1)["error"]["message"]
    os.kill(server, signal.SIGKILL)
    for pid, step in ((log(shell)[0][1], "step all/"), (log(shell)[1][1], "step all/"), (server, "step all/2/three")):
        assert f"process {pid}" in message
        assert step in message


def test_a_run_whose_processes_are_gone_is_resumed_at_once(shell):
    shell.program("nap", SLEEP % 120)
    run, pid = killed(shell)
    os.killpg(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    shell.program("nap", SLEEP % 0)
    began = time.monotonic()
    done = shell.gert("resume", "--run", run)
    assert time.monotonic() - began < 5
    assert "process" not in done.stderr


def test_another_process_with_the_number_of_the_tool_is_not_taken_for_it(shell):
    """The recorded start is what tells them apart: here it is made that of an earlier process."""
    shell.program("nap", SLEEP % 120)
    run, _ = killed(shell)
    file = shell.runs()[0] / "children"
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(
        "".join(json.dumps({**entry, "from": entry["from"] - 60, "to": entry["to"] - 60}) + "\n" for entry in kept)
    )
    began = time.monotonic()
    shell.program("nap", SLEEP % 0)
    shell.gert("resume", "--run", run)
    assert time.monotonic() - began < 5


def test_the_wait_can_be_interrupted(shell):
    shell.program("nap", SLEEP % 120)
    run, pid = killed(shell)
    running = subprocess.Popen(
        shell.command("resume", "--run", run, "--json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=shell.root,
        env=shell.environ,
    )
    said = running.stderr.readline()
    assert f"process {pid}" in said
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=5)
    assert running.returncode == 130
    assert json.loads(out)["error"]["kind"] == "cancelled"
    assert alive(pid)


@pytest.mark.parametrize(
    "damage", [b"", b"\0" * 512, b"no json\n", b'{"pid": "x"}\n', b"[]\n" * 10_000, b'{"a":' * 50_000]
)
def test_a_damaged_list_of_children_is_no_obstacle(shell, damage):
    shell.program("nap", SLEEP % 120)
    run, pid = killed(shell)
    (shell.runs()[0] / "children").write_bytes(damage)
    os.killpg(pid, signal.SIGKILL)
    shell.program("nap", SLEEP % 0)
    assert shell.json("resume", "--run", run)["status"] == "completed"


def test_a_run_that_ended_by_itself_leaves_no_list(shell):
    shell.program("nap", SLEEP % 0)
    shell.gert("exec", "book.yaml")
    assert not (shell.runs()[0] / "children").exists()


def test_a_line_that_would_fit_any_process_names_none(shell):
    """A planted list of programs must not lead to a hint that ends a process of somebody else."""
    shell.program("nap", SLEEP % 120)
    run, pid = killed(shell)
    os.killpg(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    shell.program("nap", SLEEP % 0)
    foreign = subprocess.Popen(["sleep", "60"], start_new_session=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    planted = {"pid": foreign.pid, "from": 0, "to": 1e12, "boot": boot, "step": "a"}
    others = [planted, planted | {"from": 1, "to": 2}, planted | {"boot": "another", "to": time.time()}]
    try:
        (shell.runs()[0] / "children").write_text("".join(json.dumps(line) + "\n" for line in others))
        done = shell.gert("resume", "--run", run)
        assert str(foreign.pid) not in done.stderr
        assert done.returncode == 0, done.stderr
    finally:
        foreign.kill()
        foreign.wait()
