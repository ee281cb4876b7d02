"""Leaf types of other distributions, used as processes: what they do themselves, without the engine's help, is safe."""

from __future__ import annotations

import signal

import pytest
from gertproc import Gert

from gert_core.testing.fake_dist import FakeDist

HEAD = """
import os, signal, sys, time
from pathlib import Path
from pydantic import Field
from gert_core import hookimpl
from gert_core.api import *
from gert_core.kit.models import StepModel, Templated
"""


class Lot(Gert):
    """A project with plugins of other distributions."""

    def __init__(self, root, **environ):
        site = root / "site"
        super().__init__(root, PYTHONPATH=str(site), **environ)
        self.site = FakeDist(directory=site)
        site.mkdir()

    def plugin(self, distribution, source):
        self.site.add(distribution, HEAD + source)

    def book(self, steps, **files):
        end = "\n  - { id: done, type: end, outcome: { category: resolved, code: ok } }"
        self.write(
            book=f"apiVersion: kernel/v0\nmeta: {{ name: book }}\nsteps:\n{steps.strip(chr(10))}{end}\n", **files
        )


@pytest.fixture
def gert(tmp_path):
    return Lot(tmp_path)


PUSH = """
class Push(StepModel):
    mark: str = Field(description="The file that shows that it was done.")

def run(step, ctx):
    with open(step.mark, "a") as file:
        file.write("x")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="push", model=Push, run=run, contract=Contract(%s), summary="Pushes.")]
"""


def test_a_leaf_that_acts_by_itself_is_not_run_twice_after_a_kill(gert):
    gert.plugin("gert-step-push", PUSH % 'effects=("git",), writes=("remote",)')
    gert.book("  - { id: p, type: push, mark: mark }")
    assert gert("exec", "book.yaml", DIE="1").code == -signal.SIGKILL
    assert (gert.root / "mark").read_text() == "x"
    said = gert("resume", "--run", gert.run().name)
    assert said.code == 1
    assert "cannot determine whether p took effect" in said.err
    assert (gert.root / "mark").read_text() == "x"


def test_a_leaf_that_acts_by_itself_and_may_be_repeated_is_run_again_as_another_attempt(gert):
    gert.plugin("gert-step-push", PUSH % 'effects=("git",), writes=("remote",), idempotent=True')
    gert.book("  - { id: p, type: push, mark: mark }")
    assert gert("exec", "book.yaml", DIE="1").code == -signal.SIGKILL
    assert gert("resume", "--run", gert.run().name).code == 0
    assert (gert.root / "mark").read_text() == "xx"
    assert [event["data"]["attempt"] for event in gert.events() if event["type"] == "step_attempt"] == [2]


LOG = """\
apiVersion: tool/v0
meta: { name: log, binary: sh }
contract:
  effects: [files]
  writes: [log]
  inputs: { word: { type: string, required: true }, code: { type: string, default: "0" } }
  outputs: {}
actions:
  add: { argv: [sh, -c, 'echo "$1 $GERT_IDEMPOTENCY_KEY" >> log; [ "$1" != "$DIE" ] || kill -9 $PPID; exit $2', sh, "{{ .word }}", "{{ .code }}"] }
"""
CALLS = """
class Calls(StepModel):
    words: list[str] = Field(description="What to log.")
    code: str = Field(default="0", description="How each call ends.")

def run(step, ctx):
    for word in step.words:
        ctx.call_tool("log", "add", {"word": word, "code": step.code})
    return Completed()

def contract(step, tools):
    return tools.contract("log", "add")

@hookimpl
def gert_step_types():
    return [
        StepType(name="calls", model=Calls, run=run, contract=contract, summary="Calls."),
        StepType(name="use", model=Calls, run=run, tool_use=lambda step: ToolUse(tool="log"), summary="Uses."),
    ]
"""


@pytest.fixture
def calling(gert):
    gert.plugin("gert-step-calls", CALLS)
    gert.write(tool_log=LOG)
    return gert


def logged(gert):
    return [line.split() for line in (gert.root / "log").read_text().splitlines()]


def list_tools(gert, steps):
    gert.book(steps)
    text = (gert.root / "book.yaml").read_text()
    gert.write(book=text.replace("steps:", "tools: [log]\nsteps:"))


def test_every_tool_call_of_a_step_has_an_idempotency_key_of_its_own(calling):
    list_tools(
        calling, "  - { id: c, type: calls, words: [one, two, three] }\n  - { id: d, type: calls, words: [four] }"
    )
    assert calling("exec", "book.yaml").code == 0
    keys = [key for _, key in logged(calling)]
    assert len(set(keys)) == 4
    starts = {e["step_key"]: e["data"].get("idempotency_key") for e in calling.events() if e["type"] == "step_start"}
    assert (keys[0], keys[3]) == (starts["c"], starts["d"])


def test_the_keys_of_later_calls_are_the_same_after_a_kill_and_a_resume(calling):
    list_tools(calling, "  - { id: c, type: calls, words: [one, two, three] }")
    assert calling("exec", "book.yaml", DIE="two").code == -signal.SIGKILL
    before = logged(calling)
    assert [word for word, _ in before] == ["one", "two"]
    assert calling("resume", "--run", calling.run().name, "--reconcile", "c=redo").code == 0
    after = logged(calling)[2:]
    assert [word for word, _ in after] == ["one", "two", "three"]
    assert after[:2] == before


def test_tool_calls_that_no_other_event_tells_of_are_traced(calling):
    list_tools(
        calling,
        "  - { id: c, type: calls, words: [one, two] }\n"
        "  - { id: u, type: use, words: [three, four] }\n"
        "  - { id: p, type: tool, tool: log, inputs: { word: five } }\n"
        "  - { id: f, type: calls, words: [six], code: '3' }",
    )
    assert calling("exec", "book.yaml").code == 0
    events = [e for e in calling.events() if e["type"] == "tool_call"]
    assert [(e["step_key"], e["data"]["inputs"]["word"], e["data"]["exit_code"]) for e in events] == [
        ("c", "one", 0),
        ("c", "two", 0),
        ("u", "four", 0),
        ("f", "six", 3),
    ]
    assert {(e["data"]["tool"], e["data"]["action"]) for e in events} == {("log", "add")}
    assert all(e["data"]["duration"].endswith("s") for e in events)
    assert calling("trace", "verify", str(calling.run() / "trace.jsonl")).code == 0
    assert "tool_call" in calling("trace", "show", str(calling.run() / "trace.jsonl"), "--json").out
