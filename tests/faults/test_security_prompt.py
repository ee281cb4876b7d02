"""The terminal at which approvals are given belongs to the person: no tool, input or early line answers or forges."""

from __future__ import annotations

import sys

import pytest
from gertproc import Gert
from terminal import Terminal

# Opens the terminal it was started on and pushes an approval into its input.
PUSH = f"""\
#!{sys.executable}
import fcntl, os, termios
def attempt():
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        for char in b"y mallory\\n":
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([char]))
        return "pushed"
    except OSError as error:
        return error.strerror
open("pushed", "a").write(f"{{os.getsid(0) == os.getpid()}} {{attempt()}}\\n")
"""
TOOLS = {
    "tool_push": (
        "apiVersion: tool/v0\nmeta: {name: push, transport: stdio, binary: ./push}\n"
        "contract: {effects: [], idempotent: true}\nactions: {run: {argv: [push]}}\n"
    ),
    "tool_act": (
        "apiVersion: tool/v0\nmeta: {name: act, transport: stdio, binary: touch}\n"
        "contract: {inputs: {note: {type: string, default: none}}, effects: [danger], writes: [production]}\n"
        "actions: {run: {argv: [touch, acted, '{{ .note }}']}}\n"
    ),
}
BOOK = """\
apiVersion: kernel/v0
meta:
  name: prompt
  inputs: {note: {type: string, default: plain}}
  governance: {rules: [{effects: [danger], action: require-approval}]}
tools: [push, act]
steps:
  - {id: push, type: tool, tool: push}
  - {id: act, type: tool, tool: act, inputs: {note: "{{ .note }}"}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""


@pytest.fixture
def gert(tmp_path) -> Gert:
    made = Gert(tmp_path, GERT_ACTOR="olga", COLUMNS="")
    (tmp_path / "push").write_text(PUSH)
    (tmp_path / "push").chmod(0o755)
    made.write(book=BOOK, **TOOLS)
    return made


@pytest.mark.parametrize("alone", [True, False])
def test_a_tool_has_no_terminal_to_type_into(gert, alone):
    """A tool leads a session without a terminal, whichever way it was started."""
    items = "" if alone else ", for_each: {as: n, over: [1, 2, 3, 4], parallel: true, key: '{{ .n }}'}"
    steps = f"  - {{id: push, type: tool, tool: push{items}}}\n  - {{type: end, outcome: {{category: resolved}}}}\n"
    gert.write(book=f"{BOOK.partition('steps:')[0]}steps:\n{steps}")
    with Terminal(gert, "exec", "book.yaml") as terminal:
        terminal.end()
        assert terminal.code == 0, terminal.seen
    said = (gert.root / "pushed").read_text().splitlines()
    assert said == ["True No such device or address"] * (1 if alone else 4)
