"""Runbooks whose tools are behind an MCP server: run, resumed and proven like all others."""

from __future__ import annotations

import sys

import pytest
from repository import ROOT
from shell import Shell

SERVER = ROOT / "plugins/gert-transport-mcp/tests/servers/plain.py"
CONTRACT = """\
  inputs: { n: { type: int } }
  outputs: { pid: { type: int }, arguments: { type: object } }
  effects: [network]
"""
DIED = "whether 'die-once' took effect is unknown, and it may not be repeated (`idempotent`)"


@pytest.fixture
def shell(tmp_path) -> Shell:
    shell = Shell(tmp_path)
    shell.environ["LOG"] = str(tmp_path / "log")
    (tmp_path / "log").touch()
    return shell


def tool(shell: Shell, more: str = "  writes: []\n", secrets: str = "", **actions: str) -> None:
    listed = "".join(
        f"  {name}: {{ mcp_tool: {called}, argv: [{sys.executable}, {SERVER}] }}\n" for name, called in actions.items()
    )
    shell.write(
        "tools/server.tool.yaml",
        f"apiVersion: tool/v0\nmeta: {{ name: server, transport: mcp }}\n{secrets}"
        f"contract:\n{CONTRACT}{more}actions:\n{listed}",
    )


def test_a_run_has_one_server_whose_outputs_are_the_steps(shell):
    tool(shell, look="look")
    shell.book(
        """
        - { id: first, type: tool, tool: server, action: look, inputs: { n: 7 } }
        - { id: second, type: tool, tool: server, action: look, inputs: { n: "{{ first.arguments.n + 1 }}" } }
        - { id: same, type: assert, assert: [{ type: equals, value: "{{ .first.pid }}", expected: "{{ .second.pid }}" }] }
        """,
        tools="server",
    )
    shell.gert("validate", "book.yaml")
    assert SERVER.name in shell.gert("exec", "book.yaml", "--mode", "dry-run").stdout
    shell.gert("exec", "book.yaml")
    ended = {event["data"]["step_id"]: event["data"] for event in shell.events("step_complete")}
    assert ended["second"]["outputs"]["arguments"] == {"n": 8}
    assert ended["same"]["status"] == "success"
    assert (shell.root / "log").read_text().count("start") == 1


def test_a_server_that_dies_in_a_writing_call_is_told_as_that(shell):
    tool(shell, more="  writes: [index]\n", update="die-once")
    shell.book("- { id: update, type: tool, tool: server, inputs: { n: 1 } }", tools="server")
    result = shell.json("exec", "book.yaml", code=1)
    assert (result["failure"]["kind"], DIED in result["failure"]["message"]) == ("unknown_outcome", True)
    assert (shell.root / "log").read_text().count("call") == 1
    shell.gert("trace", "verify", str(shell.trace()))


def test_a_misspelt_tool_is_named_with_the_nearest(shell):
    tool(shell, look="lok")
    shell.book("- { id: look, type: tool, tool: server, inputs: { n: 1 } }", tools="server")
    result = shell.json("exec", "book.yaml", code=1)
    assert result["failure"]["kind"] == "action_unknown"
    assert result["failure"]["message"].endswith("has no tool 'lok'; the nearest are look")


def test_a_secret_reaches_the_server_and_no_trace(shell):
    tool(shell, secrets="secrets: [{ env: TOKEN }]\n", show="token")
    shell.write(
        "tools/server.tool.yaml",
        (shell.root / "tools/server.tool.yaml")
        .read_text()
        .replace(
            CONTRACT,
            """\
  inputs: { n: { type: int } }
  outputs: { value: { type: string } }
  effects: [network]
""",
        ),
    )
    shell.book("- { id: show, type: tool, tool: server }", tools="server")
    shell.gert("exec", "book.yaml", TOKEN="s3cr3t-token-value")
    trace = shell.trace().read_text()
    assert "s3cr3t-token-value" not in trace
    assert "<REDACTED" in trace
