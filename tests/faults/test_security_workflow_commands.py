"""Data that GitHub takes for a workflow command, where it runs gert: no command shows it as one."""

from __future__ import annotations

import json
import re

import pytest
from gertproc import Gert

COMMANDS = r"printf '::stop-commands::x\n  ::error::y\n##[error]z\n' >&2; printf '\t::add-mask::a\n'; exit 3"
TOOL = f"""\
apiVersion: tool/v0
meta: {{ name: evil }}
contract: {{ effects: [host] }}
actions: {{ run: {{ argv: [sh, -c, {json.dumps(COMMANDS)}] }} }}
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: b }
tools: [evil]
steps:
  - { id: one, type: tool, tool: evil, description: "::notice::d", continue_on_fail: true }
  - { id: ask, type: manual, instructions: "::warning::i", required_evidence: [{ name: e, kind: text }] }
  - { type: end, outcome: { category: resolved, code: ok } }
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, GITHUB_ACTIONS="true")
    made.write(tool_evil=TOOL, book=BOOK)
    return made


def commands(text):
    """Lines that GitHub takes for commands: the places of failures are the only ones that gert gives it."""
    found = [line for line in text.splitlines() if re.match(r"\s*::", line) or "##[" in line]
    return [line for line in found if not line.startswith("::error file=")]


@pytest.mark.parametrize(
    "command",
    [
        *("exec book.yaml", "exec book.yaml -vv", "exec book.yaml --progress json", "exec book.yaml --json"),
        *("runs show latest", "runs logs latest", "trace show --run latest", "runs show latest --step one"),
        *("runs show latest --json", "runs tail latest", "explain book.yaml", "graph book.yaml", "tools show evil"),
    ],
)
def test_no_data_is_a_command_for_github(gert, command):
    if command.split()[0] in ("runs", "trace"):
        gert("exec", "book.yaml", answers="x\n")
    said = gert(*command.split(), answers="x\n")
    assert said.code == 0, said.all
    assert commands(said.all) == []
    if "--json" in command:
        assert json.loads(said.out)["steps"]


@pytest.mark.parametrize("command", ["watch ended.yaml --interval 1s --count 1", "outcomes", "outcomes --csv"])
def test_no_data_is_a_command_for_github_in_commands_of_plugins(gert, command):
    gert.write(
        ended='apiVersion: kernel/v0\nmeta: { name: "::e" }\nsteps:\n  - { type: end, outcome: '
        '{ category: resolved, code: "x ##[error]z" } }\n'
    )
    gert("exec", "ended.yaml")
    said = gert(*command.split())
    assert (said.code, "error]z" in said.out, commands(said.all)) == (0, True, []), said.all


def test_elsewhere_it_is_shown_as_it_is(gert):
    gert("exec", "book.yaml", answers="x\n")
    assert "##[error]z" in gert("runs", "logs", "latest", GITHUB_ACTIONS="false").out
