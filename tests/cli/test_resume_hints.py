"""What is printed to resume a run is a command that resumes it: with secret inputs and the store to be given again."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta:
  name: asked
  inputs: {pw: {type: string, secret: true}, plain: {type: string, default: x}, other: {type: string, secret: true, default: "y234"}}
  governance: {rules: [{effects: [danger], action: require-approval, exclude_actor: false}]}
tools: [act]
steps:
  - {id: act, type: tool, tool: act, inputs: {what: "{{ .pw }}"}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio}
contract: {inputs: {what: {type: string}}, effects: [danger], writes: [production]}
actions: {run: {argv: [echo, "{{ .what }}"]}}
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK, tool_act=TOOL)
    return made


@pytest.mark.parametrize("store", [(), ("--store", "sqlite:kept.db")])
@pytest.mark.parametrize("given", [("--var", "pw=sesame-77"), ("--input", "given.yaml")])
def test_the_command_that_is_printed_resumes_the_run(gert, store, given):
    gert.write(given="pw: sesame-77")
    said = gert("exec", "book.yaml", "--approval", "inbox", *given, *store)
    assert said.code == 0, said.all
    run = re.search(r"run: (\S+)", said.out)[1]
    first = shlex.join(["gert", "resume", "--run", run, "--var", "pw=…", *store])
    assert f"  then: {first}  # resume the run when that is done\n" in said.out
    command = shlex.join(["gert", "resume", "--run", run, "--var", "pw=…", *store])
    shown = json.loads(gert("runs", "show", run, "--json", *store).out)
    assert ["gert", "resume", "--run", run, "--var", "pw=…", *store] in [step["command"] for step in shown["next"]]
    (ticket,) = shown["pending"]
    said = gert("approve", ticket["ticket_id"], "--as", "ann", *store)
    assert said.code == 0, said.all
    assert f"  next: {command}\n" in said.out
    words = shlex.split(command.replace("…", "sesame-77"))[1:]
    done = gert(*words)
    assert done.code == 0, done.all
    assert "resolved (acted)" in done.out
