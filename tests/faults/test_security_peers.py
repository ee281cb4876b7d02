"""An approved step is served by processes that were started for it, from the program that was approved."""

from __future__ import annotations

import sys

import pytest
from binding import acted, approve, bound_gert, of, pending, resume

SWAP = 'os.symlink("{to}", "link"); os.rename("link", "peer")'
RPC = """#!PYTHON
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    called, result = message["method"], {}
    if called == "act":
        open("acted", "a").write("NAME\\n")
    BEFORE
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    AFTER
"""
MCP = """#!PYTHON
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    called, result = message["method"], {}
    if called == "initialize":
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    elif called == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("look", "peek", "act")]}
    elif called == "tools/call":
        called, result = message["params"]["name"], {"content": [{"type": "text", "text": "ok"}]}
        if called == "act":
            open("acted", "a").write("NAME\\n")
        BEFORE
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    AFTER
"""
EXTENSION = RPC.replace(
    "called, result = message", "called, result = message.get('params', {}).get('inputs', {}).get('do') or message"
)
TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: TRANSPORT, binary: ./peer}
actions:
  look: {METHOD: look, env: {OWN: ENV}, contract: {reads: [x], idempotent: true}}
  peek: {METHOD: peek, contract: {reads: [x], idempotent: true}}
  act: {METHOD: act, contract: {effects: [danger], writes: [production]MORE}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: peers, governance: {rules: [{effects: [danger], action: require-approval}]}}
tools: [act]
steps:
"""
READS = "reads: [x], idempotent: true"
WRITES = "effects: [danger], writes: [production]"
AGAIN = ", retry: {max: 3, delay: 100ms}"
"""For a step whose peer may be about to end when it is called."""
KINDS = (("look", READS, ""), ("peek", READS, AGAIN), ("act", WRITES, ""))
STEPS = "".join(f"  - {{id: {name}, type: tool, tool: act, action: {name}{again}}}\n" for name, _, again in KINDS)
RUNNERS = "".join(
    f"  - {{id: {name}, type: extension, extension: ./peer, contract: {{{does}}}, inputs: {{do: {name}}}{again}}}\n"
    for name, does, again in KINDS
)
END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"


@pytest.fixture
def gert(tmp_path):
    return bound_gert(tmp_path)


def peer(gert, name, text, before="pass", after="pass"):
    file = gert.root / name
    for word, value in (("PYTHON", sys.executable), ("NAME", name), ("BEFORE", before), ("AFTER", after)):
        text = text.replace(word, value)
    file.write_text(text)
    file.chmod(0o755)


def tool(transport, *, env="", more=""):
    method = "method" if transport == "jsonrpc" else "argv: [./peer], config: {mcp_tool"
    text = TOOL.replace("TRANSPORT", transport).replace("MORE", more)
    text = text.replace("env: {OWN: ENV}, ", f"env: {{OWN: {env}}}, " if env else "")
    if transport == "jsonrpc":
        return text.replace("METHOD", method)
    for name in ("look", "peek", "act"):
        text = text.replace(f"METHOD: {name}", f"config: {{mcp_tool: {name}}}")
    return text


PUT_BACK = {
    "a peer that was started again": (RPC, tool("jsonrpc"), STEPS, True),
    "a peer with another environment": (RPC, tool("jsonrpc", env="a"), STEPS, False),
    "a server that was started again": (MCP, tool("mcp"), STEPS, True),
    "a server with another environment": (MCP, tool("mcp", env="a"), STEPS, False),
    "a runner that was started again": (EXTENSION, tool("jsonrpc"), RUNNERS, True),
}


@pytest.mark.parametrize(("text", "tool", "steps", "ends"), PUT_BACK.values(), ids=PUT_BACK.keys())
def test_a_peer_started_from_another_file_that_was_put_back_serves_no_approved_step(gert, text, tool, steps, ends):
    """The approver is shown the file as it is when they are asked, and a process of the other one is still there."""
    swap = f'if called == "look": {SWAP.format(to="evil")}'
    peer(gert, "good", text, before=swap, after='if called == "look": os._exit(0)' if ends else "pass")
    peer(gert, "evil", text, before=f'if called == "peek": {SWAP.format(to="good")}')
    (gert.root / "peer").symlink_to("good")
    gert.write(tool_act=tool, book=f"{BOOK}{steps}{END}")
    said = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", "--json", answers="y ann\n")
    assert said.document["status"] == "completed", said.all
    assert (gert.root / "peer").readlink().name == "good", "the file was exchanged and put back"
    assert acted(gert) == ["good"]


def test_a_server_lost_in_an_approved_call_is_not_started_from_another_file(gert):
    swap = f'if called == "act": {SWAP.format(to="evil")}; os._exit(0)'
    peer(gert, "good", MCP, before=swap)
    peer(gert, "evil", MCP)
    (gert.root / "peer").symlink_to("good")
    gert.write(tool_act=tool("mcp", more=", idempotent: true"), book=f"{BOOK}{STEPS.splitlines()[2]}\n{END}")
    approve(gert, pending(gert))
    assert resume(gert)["status"] == "error"
    failure = of(gert, "step_complete")[0]["failure"]
    assert (failure["kind"], acted(gert)) == ("approval_void", ["good"]), failure
    assert "started" not in of(gert, "step_complete")[0], "the first try may have taken effect"


def test_a_server_lost_in_an_approved_call_is_started_again_from_the_same_file(gert):
    lost = 'if called == "act" and len(open("acted").readlines()) == 1: os._exit(0)'
    peer(gert, "peer", MCP, before=lost)
    gert.write(tool_act=tool("mcp", more=", idempotent: true"), book=f"{BOOK}{STEPS.splitlines()[2]}\n{END}")
    approve(gert, pending(gert))
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["peer", "peer"]


@pytest.mark.parametrize("steps", [STEPS, RUNNERS], ids=["peer", "runner"])
def test_the_processes_of_an_approved_step_end_with_it(gert, steps):
    """A loop over approved items must not keep one for each."""
    peer(gert, "peer", EXTENSION if steps is RUNNERS else RPC, before='open("pids", "a").write(f"{os.getpid()}\\n")')
    one = steps.splitlines()[2].replace("id: act", "id: act, for_each: {over: [a, b, c], as: item}")
    look = "  - {id: see, type: tool, tool: see}\n"
    see = (
        "#!/bin/sh\nfor pid in $(sort -u pids); do kill -0 $pid 2>/dev/null && echo alive; done >> found; touch found\n"
    )
    (gert.root / "see").write_text(see)
    (gert.root / "see").chmod(0o755)
    gert.write(
        tool_see="apiVersion: tool/v0\nmeta: {name: see, binary: ./see}\nactions: {run: {argv: [see]}}\n",
        tool_act=tool("jsonrpc"),
        book=f"{BOOK.replace('[act]', '[act, see]')}{one}\n{look}{END}",
    )
    said = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", "--json", answers="y ann\n" * 3)
    assert said.document["status"] == "completed", said.all
    assert acted(gert) == ["peer"] * 3
    assert len(set((gert.root / "pids").read_text().split())) == 3, "each item had its own"
    assert (gert.root / "found").read_text() == ""


def test_a_runner_whose_name_ends_like_a_step_is_not_the_runner_of_that_step(gert):
    """Peers of one step are told from those of the run by more than a name that documents choose."""
    peer(gert, "peer", EXTENSION)
    for name in ("peer:act", "peer\nact"):
        peer(gert, name, EXTENSION.replace("NAME", "evil"))
    first = "".join(
        f"  - {{type: extension, extension: {name}, contract: {{reads: [x]}}, inputs: {{do: look}}}}\n"
        for name in ("./peer:act", '"./peer\\nact"')
    )
    gert.write(tool_act=tool("jsonrpc"), book=f"{BOOK}{first}{RUNNERS.splitlines()[2]}\n{END}")
    said = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", "--json", answers="y ann\n")
    assert said.document["status"] == "completed", said.all
    assert acted(gert) == ["peer"]
