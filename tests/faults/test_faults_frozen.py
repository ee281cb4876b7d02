"""A gert that was stopped for a while (SIGSTOP, a suspended container): what ended in time is not a timeout."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

import pytest
from shell import Shell, wait_for

SERVER = f"""#!{sys.executable}
import json, os, sys, time
for line in sys.stdin:
    open("begun", "w").close()
    time.sleep(1)
    print(json.dumps({{"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {{"said": "fine"}}}}), flush=True)
    open("ended", "w").close()
"""
RPC = """\
apiVersion: tool/v0
meta: { name: work, transport: jsonrpc, binary: work }
contract: { effects: [network], idempotent: true, outputs: { said: { type: string } } }
actions: { do: { method: do } }
"""
STEP = "- {{ id: a, type: tool, tool: work, timeout: {} }}"


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("work", "touch begun; sleep 1; echo fine; touch ended\n")
    made.tool(
        "work",
        '["work"]',
        contract="{ effects: [network], idempotent: true, outputs: { said: { type: string } } }",
        more="extract: { said: { from: stdout } }",
    )
    made.book(STEP.format("2s"), tools="work")
    return made


def frozen(shell: Shell, seconds: float = 2.5) -> Any:
    """Stop gert while its tool works, and let it go on when the deadline has passed."""
    running = shell.start("exec", "book.yaml", "--json")
    wait_for((shell.root / "begun").exists)
    running.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    running.send_signal(signal.SIGCONT)
    return running


@pytest.mark.parametrize("transport", ["stdio", "jsonrpc"])
def test_a_tool_that_ended_while_gert_was_stopped_is_no_timeout(shell, transport):
    if transport == "jsonrpc":
        shell.program("work", SERVER)
        shell.write("tools/work.tool.yaml", RPC)
    running = frozen(shell)
    out, err = running.communicate(timeout=15)
    assert (shell.root / "ended").exists()
    assert running.returncode == 0, out + err
    assert json.loads(out)["outputs"]["said"] == "fine"


def test_the_time_limit_of_the_tool_is_read_the_same_way(shell):
    text = (shell.root / "tools" / "work.tool.yaml").read_text()
    shell.write("tools/work.tool.yaml", text.replace("    extract:", "    timeout: 2s\n    extract:"))
    shell.book("- { id: a, type: tool, tool: work }", tools="work")
    running = frozen(shell)
    out, err = running.communicate(timeout=15)
    assert running.returncode == 0, out + err


def test_a_tool_that_is_still_at_work_when_gert_goes_on_is_a_timeout(shell):
    shell.program("work", "touch begun; sleep 60\n")
    running = frozen(shell)
    out, _ = running.communicate(timeout=15)
    assert running.returncode == 1
    assert json.loads(out)["failure"]["kind"] == "timeout"


def test_the_step_after_it_is_under_its_own_time_limit(shell):
    shell.book(STEP.format("2s") + "\n- { id: b, type: tool, tool: work, timeout: 10s }", tools="work")
    running = frozen(shell)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 0, out + err
