"""The idempotency key reaches the tools of every transport, the same again when a killed run is resumed."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from shell import Shell, wait_for

SERVER = f"""#!{sys.executable}
import json, os, sys, time
open("pid", "w").write(str(os.getpid()))
for line in sys.stdin:
    request = json.loads(line)
    with open("seen", "a") as file:
        file.write(json.dumps(request["params"]) + "\\n")
    if request["params"].get("nap"):
        time.sleep(60)
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": {{}}}}), flush=True)
"""
TOOL = """\
apiVersion: tool/v0
meta: {{ name: host, transport: jsonrpc, binary: server }}
contract: {{ effects: [network], idempotent: true, inputs: {{ nap: {{ type: bool }}{declared} }} }}
actions: {{ look: {{ method: look }} }}
"""
DECLARED = ", idempotency_key: { type: string }"


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("server", SERVER)
    return made


def tool(shell: Shell, declared: str = DECLARED) -> None:
    shell.write("tools/host.tool.yaml", TOOL.format(declared=declared))


def seen(shell: Shell) -> list[dict]:
    path = shell.root / "seen"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def recorded(shell: Shell) -> list[str]:
    return [e["data"]["idempotency_key"] for e in shell.events("step_start") if "idempotency_key" in e["data"]]


def test_a_jsonrpc_tool_that_declares_the_input_gets_the_key(shell):
    tool(shell)
    shell.book("- { id: a, type: tool, tool: host }\n- { id: b, type: tool, tool: host }", tools="host")
    shell.gert("exec", "book.yaml")
    assert [params["idempotency_key"] for params in seen(shell)] == recorded(shell)[:2]
    assert len(set(recorded(shell)[:2])) == 2


def test_a_key_that_the_step_gives_is_kept_and_a_tool_that_declares_none_gets_none(shell):
    tool(shell)
    shell.book("- { id: a, type: tool, tool: host, inputs: { idempotency_key: own } }", tools="host")
    shell.gert("exec", "book.yaml")
    tool(shell, declared="")
    shell.book("- { id: a, type: tool, tool: host }", tools="host")
    shell.gert("exec", "book.yaml")
    assert seen(shell) == [{"idempotency_key": "own"}, {}]


def test_the_key_is_the_same_when_a_killed_run_is_resumed(shell):
    tool(shell)
    shell.book("- { id: a, type: tool, tool: host, inputs: { nap: '{{ .nap }}' } }", tools="host",
               meta="inputs: { nap: { type: bool, default: true } }")  # fmt: skip
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: seen(shell))
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=10)
    os.kill(int((shell.root / "pid").read_text()), signal.SIGKILL)  # it does not look at its input during its nap
    shell.program("server", SERVER.replace("time.sleep(60)", "pass"))
    shell.gert("resume", "--run", shell.runs()[0].name)
    keys = [params["idempotency_key"] for params in seen(shell)]
    assert keys == [recorded(shell)[0]] * 2


def test_a_command_line_may_have_the_key_too(shell):
    shell.tool("say", '["sh", "-c", "echo $1 >> seen", "sh", "{{ .idempotency_key }}"]',
               contract="{ effects: [network], idempotent: true, inputs: { idempotency_key: { type: string } } }")  # fmt: skip
    shell.book("- { id: a, type: tool, tool: say }", tools="say")
    shell.gert("exec", "book.yaml")
    assert (shell.root / "seen").read_text().split() == recorded(shell)[:1]
