"""A public MCP server, as its authors published it, driven by runbooks through the transport; and the example's own."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from repository import ROOT
from shell import Shell

EXAMPLE = ROOT / "examples/runbooks/maintenance-window"
TOOL = f"""
apiVersion: tool/v0
meta: {{ name: clock, transport: mcp, binary: {sys.executable} }}
contract: {{ effects: [time], writes: [], reads: [clock] }}
actions:
  now:
    mcp_tool: get_current_time
    argv: [python, -m, mcp_server_time]
    contract:
      inputs: {{ timezone: {{ type: string, required: true }} }}
      outputs: {{ datetime: {{ type: string }}, is_dst: {{ type: bool }} }}
  convert:
    mcp_tool: convert_time
    argv: [python, -m, mcp_server_time]
    contract:
      inputs:
        source_timezone: {{ type: string, required: true }}
        target_timezone: {{ type: string, required: true }}
        time: {{ type: string, required: true }}
      outputs: {{ target: {{ type: object }}, time_difference: {{ type: string }} }}
"""


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


def outputs(shell: Shell) -> dict[str, dict[str, object]]:
    return {event["data"]["step_id"]: event["data"].get("outputs", {}) for event in shell.events("step_complete")}


def test_the_published_time_server_answers_steps_with_typed_outputs(shell):
    shell.write("tools/clock.tool.yaml", TOOL)
    shell.book(
        """
        - { id: here, type: tool, tool: clock, action: now, inputs: { timezone: UTC } }
        - id: there
          type: tool
          tool: clock
          action: convert
          inputs: { source_timezone: UTC, target_timezone: Asia/Tokyo, time: "12:30" }
        """,
        tools="clock",
    )
    shell.gert("exec", "book.yaml")
    found = outputs(shell)
    assert found["here"]["is_dst"] is False
    assert str(found["here"]["datetime"]).endswith("+00:00")
    assert found["there"]["time_difference"] == "+9.0h"
    assert "T21:30" in found["there"]["target"]["datetime"]


def test_what_the_published_server_refuses_is_a_failed_step(shell):
    shell.write("tools/clock.tool.yaml", TOOL)
    shell.book("- { id: here, type: tool, tool: clock, action: now, inputs: { timezone: Mars/Base } }", tools="clock")
    result = shell.json("exec", "book.yaml", code=1)
    assert result["failure"]["step_id"] == "here"
    assert "Mars/Base" in result["failure"]["message"]


def test_the_example_books_a_window_at_its_own_server(shell):
    copied = shutil.copytree(EXAMPLE, shell.root / "example")
    path = f"{Path(sys.executable).parent}:{shell.environ['PATH']}"
    book, asked = str(copied / "maintenance-window.runbook.yaml"), ("--var", "service=web", "--var")
    done = shell.json("exec", book, *asked, "day=2026-11-20", PATH=path)
    assert (done["outcome"]["code"], done["outcome"]["meta"]) == ("booked", {"window": "web on 2026-11-20"})
    frozen = shell.json("exec", book, *asked, "day=2026-12-24", PATH=path)
    assert frozen["outcome"]["code"] == "change_freeze"
    assert (shell.root / "windows.txt").read_text() == "web on 2026-11-20\n"
