"""The program that an approval is bound to is the program that is started."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: ./act}
contract: {effects: [danger], writes: [production]}
actions: {run: {argv: [act]}}
"""
END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"
BOOK = """\
apiVersion: kernel/v0
meta: {name: bound, governance: {rules: [{effects: [danger], action: require-approval}]}}
tools: [act]
steps:
"""
ASKING = ("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--no-preflight")


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    put(tmp_path, "act")
    made.write(tool_act=TOOL, book=f"{BOOK}  - {{id: act, type: tool, tool: act}}\n{END}")
    return made


def approved(gert: Gert) -> str | None:
    """Ask for the approval and give it; return the program that it was bound to."""
    said = gert(*ASKING, "--json")
    assert said.document["status"] == "approval_pending", said.all
    given = gert("approve", said.document["pending"][0]["ticket_id"], "--as", "ann")
    assert given.code == 0, given.all
    (submitted,) = (event["data"] for event in gert.events() if event["type"] == "approval_submitted")
    return submitted["request"]["command"]["program"]


def resume(gert: Gert) -> str:
    return gert("resume", "--run", gert.run().name, "--json").document["status"]


def acted(gert: Gert) -> list[str]:
    file = gert.root / "acted"
    return file.read_text().split() if file.exists() else []


def deploy(gert: Gert, path: str, prepare) -> None:
    """Call `deploy`, found on this PATH; `prepare` puts it there."""
    prepare(gert.root)
    env = f"env: {{PATH: '{path.replace('ROOT', str(gert.root))}'}}"
    gert.write(tool_act=TOOL.replace("binary: ./act", "binary: deploy").replace("argv: [act]", f"argv: [act], {env}"))


def put(root, place: str, said: str = "good", first: str = "#!/bin/sh\n") -> None:
    file = root / place
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{first}echo {said} >> acted\n")
    file.chmod(0o755)


@pytest.mark.parametrize("inside", ["a directory", "a pipe"])
def test_what_cannot_be_started_is_not_taken_for_the_program(gert, inside):
    def prepare(root):
        (root / "first").mkdir()
        if inside == "a directory":
            (root / "first" / "deploy").mkdir()
        else:
            os.mkfifo(root / "first" / "deploy", 0o755)
        put(root, "second/deploy")

    deploy(gert, "ROOT/first:ROOT/second:/bin:/usr/bin", prepare)
    assert approved(gert) == str(gert.root / "second" / "deploy")
    put(gert.root, "second/deploy", "evil")
    assert resume(gert) == "approval_pending"
    assert acted(gert) == []


def test_a_program_that_the_system_refuses_is_not_looked_for_elsewhere(gert):
    def prepare(root):
        put(root, "first/deploy", first="")  # no `#!`: the system cannot start it
        put(root, "second/deploy", "evil")

    deploy(gert, "ROOT/first:ROOT/second:/bin:/usr/bin", prepare)
    approved(gert)
    assert resume(gert) == "error"
    assert acted(gert) == []


@pytest.mark.parametrize("path", [":ROOT/second:/bin:/usr/bin", "ROOT/second:/bin::/usr/bin"])
def test_an_empty_part_of_the_path_is_not_the_current_directory(gert, path):
    def prepare(root):
        put(root, "second/deploy")
        put(root, "deploy", "evil")

    deploy(gert, path, prepare)
    approved(gert)
    assert resume(gert) == "completed"
    assert acted(gert) == ["good"]


def test_without_directories_on_the_path_nothing_is_started(gert):
    deploy(gert, "", lambda root: put(root, "deploy", "evil"))
    assert approved(gert) is None
    said = gert("resume", "--run", gert.run().name)
    assert said.code == 2, said.all
    assert "cannot be resumed here, so nothing was run" in said.all
    said = gert("resume", "--run", gert.run().name, "--no-preflight", "--json")
    assert said.document["status"] == "error"
    assert acted(gert) == []


@pytest.mark.parametrize("kind", ["pipe", "huge"])
def test_a_program_that_takes_long_to_read_does_not_hold_up_the_end_of_the_run(gert, kind):
    file = gert.root / "act"
    if kind == "pipe":
        file.unlink()
        os.mkfifo(file, 0o755)
    else:
        with file.open("ab") as program:
            program.truncate(200 * 1024**3)
    command = [sys.executable, "-m", "gert_core", *ASKING]
    process = subprocess.Popen(command, cwd=gert.root, env=gert.environ, stderr=subprocess.PIPE, text=True)
    try:
        if kind == "huge":
            for _ in range(600):
                if any("run_start" in file.read_text() for file in gert.root.glob("runs/*/trace.jsonl")):
                    break
                time.sleep(0.05)
            time.sleep(0.5)
            process.terminate()
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "Traceback" not in said
    assert process.returncode == (143 if kind == "huge" else 0), said
    if kind == "huge":
        assert gert.events()[-1]["data"]["status"] == "cancelled"
    assert acted(gert) == []


PEER = """#!PYTHON
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"capabilities": {}}
    if message["method"] in ("look", "act", "execute"):
        result = {"outputs": {}, "exit_code": 0, "status": "success"}
        if os.path.exists("NAME.new"):
            os.replace("NAME.new", "NAME")
        else:
            open("acted", "a").write("SAID\\n")
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    if message["method"] == "shutdown":
        break
"""
PEER_TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: jsonrpc, binary: ./peer}
actions:
  look: {method: look, contract: {effects: [], reads: [x]}}
  act: {method: act, contract: {effects: [danger], writes: [production]}}
"""
PEER_STEPS = {
    "peer": ("{type: tool, tool: act, action: look}", "{id: act, type: tool, tool: act, action: act}"),
    "runner": (
        "{type: extension, extension: ./runner, contract: {reads: [x]}, inputs: {a: one}}",
        "{id: act, type: extension, extension: ./runner, contract: {effects: [danger], writes: [production]}}",
    ),
}


@pytest.mark.parametrize("name", ["peer", "runner"])
def test_a_peer_that_was_started_before_does_not_execute_under_the_approval_of_another_program(gert, name):
    """It exchanged its own file, so that the approver was shown the hash of a harmless one."""
    for place, said in ((name, "evil"), (f"{name}.new", "good")):
        file = gert.root / place
        file.write_text(PEER.replace("PYTHON", sys.executable).replace("NAME", name).replace("SAID", said))
        file.chmod(0o755)
    first, second = PEER_STEPS[name]
    gert.write(tool_act=PEER_TOOL, book=f"{BOOK}  - {first}\n  - {second}\n{END}")
    said = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", "--json", answers="y ann\n")
    assert said.document["status"] == "completed", said.all
    assert acted(gert) == ["good"]


NAMED = {
    "in the directory of its tool": ("tools", PEER_TOOL.replace("binary: ./peer", "binary: ./peer, cwd: tool")),
    "by its actions": (".", PEER_TOOL.replace(", binary: ./peer", "").replace("{method", "{argv: [./peer], method")),
}


@pytest.mark.parametrize(("place", "tool"), NAMED.values(), ids=NAMED.keys())
def test_that_holds_wherever_its_program_is_named(gert, place, tool):
    folder = gert.root / place
    folder.mkdir(exist_ok=True)
    for name, said in (("peer", "evil"), ("peer.new", "good")):
        (folder / name).write_text(PEER.replace("PYTHON", sys.executable).replace("NAME", "peer").replace("SAID", said))
        (folder / name).chmod(0o755)
    first, second = PEER_STEPS["peer"]
    gert.write(tool_act=tool, book=f"{BOOK}  - {first}\n  - {second}\n{END}")
    said = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", "--json", answers="y ann\n")
    assert said.document["status"] == "completed", said.all
    assert (folder / "acted").read_text() == "good\n"


GENERATION = """#!PYTHON
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    result, failed = {"capabilities": {}}, False
    if message["method"] in ("look", "act"):
        result = {"outputs": {}, "exit_code": 0, "status": "success"}
        if message["method"] == "act":
            open("acted", "a").write("NUMBER\\n")
            failed = len(open("acted").readlines()) < 2
        if os.path.exists("peer.NEXT"):
            os.replace("peer.NEXT", "peer")
    if "id" in message:
        told = {"error": {"code": -32000, "message": "not yet"}} if failed else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
    if message["method"] == "shutdown":
        break
"""


def test_a_further_attempt_is_made_by_the_program_that_was_approved_for_it(gert):
    """Each attempt exchanges the file: the program of the one before must not act under the next approval."""
    for number in range(3):
        file = gert.root / (f"peer.{number}" if number else "peer")
        text = GENERATION.replace("PYTHON", sys.executable).replace("NUMBER", str(number))
        file.write_text(text.replace("NEXT", str(number + 1)))
        file.chmod(0o755)
    tool = PEER_TOOL.replace("writes: [production]", "writes: [production], idempotent: true")
    first, second = PEER_STEPS["peer"]
    again = second.replace("action: act}", "action: act, retry: {max: 2, delay: 10ms}}")
    gert.write(tool_act=tool, book=f"{BOOK}  - {first}\n  - {again}\n{END}")
    said = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", "--json", answers="y ann\ny ann\n")
    assert said.document["status"] == "completed", said.all
    assert acted(gert) == ["1", "2"]
    types = [event["type"] for event in gert.events()]
    assert (types.count("approval_submitted"), types.count("approval_void")) == (2, 1), "each was asked about"
