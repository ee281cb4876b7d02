"""The terminal at which approvals are given belongs to the person: no tool, input or early line answers or forges."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from gertproc import Gert
from terminal import Terminal
from users import NOBODY, gert_as

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


SPY = """\
apiVersion: tool/v0
meta: {name: spy, transport: stdio}
contract: {effects: [], idempotent: true}
actions:
  run:
    argv: [sh, -c, "cat /proc/$PPID/environ > seen 2> refused; head -c 1 /proc/$PPID/mem > seen-memory 2>> refused; true"]
"""
WATCHED = """\
apiVersion: kernel/v0
meta: {name: watched}
tools: [spy]
steps: [{id: spy, type: tool, tool: spy}, {type: end, outcome: {category: resolved, code: seen}}]
"""
KEY = "hmac-sha256:" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


@pytest.mark.skipif(os.geteuid() != 0, reason="root reads everything; without root gert cannot run as another user")
@pytest.mark.parametrize("key", [True, False])
def test_a_tool_cannot_read_keys_out_of_the_process_of_gert(key):
    """Through ``/proc``, as the same user; without a key nothing is hidden, which shows that the tool can look."""
    root = Path(tempfile.mkdtemp())
    try:
        root.chmod(0o777)
        Gert(root).write(tool_spy=SPY, book=WATCHED)
        for file in (root / "tools", root / "tools" / "spy.tool.yaml", root / "book.yaml"):
            file.chmod(0o755)
        environ = {"GERT_TRACE_SIGNING_KEY": KEY} if key else {"OTHER": "value"}
        done = gert_as(NOBODY, "exec", "book.yaml", cwd=root, environ=environ)
        assert done.returncode == 0, done.stderr
        seen, refused = (root / "seen").read_text(), (root / "refused").read_text()
        if key:
            assert seen == ""
            assert refused.count("Permission denied") == 2, refused
        else:
            assert "OTHER=value" in seen
    finally:
        shutil.rmtree(root)


LISTENER = """\
import json, os
from gert_core import hookimpl
from gert_core.api import Command

def show(args, host):
    for environ in (os.environ, host.environ):
        print(json.dumps(sorted(name for name in environ if "_KEY" in name)))
    return 0

@hookimpl
def gert_commands():
    return [Command(name="show-keys", summary="Shows which keys it finds.", target=show)]
"""


def test_nothing_in_the_process_finds_a_key_in_its_environment(gert, fake_dist):
    """A command of a plugin is given the keys by gert; nothing that it starts inherits one."""
    fake_dist.add("gert-command-listener", LISTENER)
    environ = {
        "PYTHONPATH": str(fake_dist.directory),
        "GERT_TRACE_SIGNING_KEY": KEY,
        "GERT_APPROVAL_SIGNING_KEY": KEY,
        "GERT_TRACE_VERIFY_KEY": "ed25519:" + "A" * 43 + "=",
        "GERT_TRACE_SIGNING_KEY_ID": "ci",
    }
    said = gert("show-keys", **environ)
    assert said.code == 0, said.err
    in_process, given = map(json.loads, said.out.splitlines())
    assert in_process == ["GERT_TRACE_SIGNING_KEY_ID", "GERT_TRACE_VERIFY_KEY"]
    assert given == sorted(name for name in environ if "_KEY" in name)
