"""The document that an approver is shown and that an approval is bound to: everything that is executed, and no less."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from hashlib import sha256

import pytest
from binding import PROGRAM, of, pending, program, resume
from gertproc import Gert

from gert_core.approvals.binding import document_hash

TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: ./act, secrets: [{env: TOKEN}, {env: UNSET, required: false}]}
contract: {inputs: {what: {type: string}}, effects: [danger], writes: [production]}
actions: {run: {argv: [act, "{{ .what }}"], stdin: "quiet", env: {LEVEL: "{{ .what }}"}}}
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: bound
  inputs: {what: {type: string, default: one}, pin: {type: string, secret: true, default: "no-pin"}}
  governance:
    rules:
      - {effects: [danger], action: require-approval, min_approvers: 2, exclude_actor: true, approvers: [bob, ann]}
tools: [act]
steps:
  - {id: act, type: tool, tool: act, description: Acts., inputs: {what: "{{ .what }} {{ .pin }}"}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
DOCUMENTS = ("runbook_hash", "tool_hashes", "block_hashes", "policy_plugins")
CONTRACT = {
    "effects": ["danger"],
    "writes": ["production"],
    "reads": [],
    "deterministic": False,
    "idempotent": False,
    "inputs": {"what": {"type": "string", "required": False}},
    "outputs": {},
}
RULE = (
    "Rule 1 of the runbook's own governance applies: require-approval by 2 approvers other than the run's actor among "
    "bob, ann for effects danger."
)
END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path, TOKEN="token-of-the-tool")


def requested(gert: Gert) -> tuple[dict, dict]:
    """Return the last request that was submitted, and the data of the first event."""
    return of(gert, "approval_submitted")[-1], gert.events()[0]["data"]


def ticket_of(run: str, key: str, digest: str) -> str:
    name = "\n".join(("ticket", run, key, digest))
    return f"t-{sha256(name.encode()).hexdigest()[:20]}"


def test_the_request_is_everything_that_is_executed_and_shown(gert):
    program(gert)
    gert.write(tool_act=TOOL, book=BOOK)
    ticket = pending(gert, "exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--var", "pin=7-7-7-7")
    submitted, start = requested(gert)
    masked = "one <REDACTED:pin>"
    assert submitted["request"] == {
        "v": 2,
        "generation": 1,
        "run_id": gert.run().name,
        "step_key": "act",
        "step_id": "act",
        "description": "Acts.",
        "message": None,
        "risk": "critical",
        "rule": RULE,
        "requested_by": "olga",
        "runbook_hash": start["runbook_hash"],
        "tool_hash": start["tool_hashes"]["act"],
        "policy_digest": start["policy_digest"],
        "contract": CONTRACT,
        "inputs": {"what": masked},
        "command": {
            "program": str(gert.root / "act"),
            "program_sha256": sha256((gert.root / "act").read_bytes()).hexdigest(),
            "argv": ["./act", masked],
            "stdin": "quiet",
            "env": {"TOKEN": "secret TOKEN", "LEVEL": masked},
            "cwd": str(gert.root),
        },
        "min_approvers": 2,
        "approvers": ["ann", "bob"],
        "exclude_actor": True,
        "expires_at": submitted["expires_at"],
        "shown": {
            "runbook_name": "bound",
            "step_type": "tool",
            "rule": RULE,
            "command": ["./act", masked],
            "created": submitted["created"],
            "timeout": 1800,
            "require_signed": False,
            "extensions": {},
        },
        "documents": f"sha256:{document_hash({name: start[name] for name in DOCUMENTS})}",
    }
    assert submitted["request_hash"] == document_hash(submitted["request"]), "what is signed is what is shown"
    assert not [file for file in gert.run().rglob("*") if file.is_file() and "7-7-7-7" in file.read_text()]
    created, expires = (datetime.fromisoformat(submitted[name]) for name in ("created", "expires_at"))
    assert (expires - created).total_seconds() == 1800
    assert start["runbook_hash"] == f"sha256:{sha256((gert.root / 'book.yaml').read_bytes()).hexdigest()}"
    assert ticket == submitted["ticket_id"] == ticket_of(gert.run().name, "act", submitted["request_hash"])


def test_the_times_of_a_request_are_those_of_its_submission(gert):
    """A resume neither gives a ticket more time nor asks for it again."""
    program(gert)
    gert.write(tool_act=TOOL, book=BOOK)
    ticket = pending(gert)
    before = of(gert, "approval_submitted")
    assert pending(gert, "resume", "--run", gert.run().name) == ticket
    assert of(gert, "approval_submitted") == before
    assert of(gert, "approval_void") == []


def test_the_second_request_of_a_step_is_another_ticket(gert):
    """What a step is asked about anew has the next number, however much is the same again."""
    program(gert, code=3)
    gert.write(tool_act=TOOL, book=BOOK.replace("min_approvers: 2, ", ""))
    first = pending(gert)
    assert gert("approve", first, "--as", "ann").code == 0
    assert resume(gert)["status"] == "failed"
    second = pending(gert, "resume", "--run", gert.run().name, "--retry-failed", "--reconcile", "act=redo")
    one, two = of(gert, "approval_submitted")
    assert (one["request"]["generation"], two["request"]["generation"]) == (1, 2)
    assert first != second
    assert of(gert, "approval_void") == [], "the first one served its execution; nothing of it changed"


PEER_TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: jsonrpc, connect: "127.0.0.1:9"}
contract: {effects: [danger], writes: [production]}
actions: {run: {method: do_it}}
"""


def asked(gert: Gert, step: str, *flags: str, meta: str = "") -> dict:
    rules = "governance: {rules: [{effects: [danger], action: require-approval}]}"
    head = f"apiVersion: kernel/v0\nmeta: {{name: bound, {meta}{rules}}}\ntools: [act]\nsteps:\n"
    gert.write(tool_act=TOOL if not (gert.root / "tools").exists() else (gert.root / "tools/act.tool.yaml").read_text())
    gert.write(book=f"{head}  - {step}\n{END}")
    pending(gert, "exec", "book.yaml", "--approval", "inbox", "--no-preflight", *flags)
    return requested(gert)[0]["request"]


def test_a_request_over_another_transport_has_its_address_and_method(gert):
    gert.write(tool_act=PEER_TOOL)
    command = asked(gert, "{id: act, type: tool, tool: act}")["command"]
    assert (command["connect"], command["method"]) == ("127.0.0.1:9", "do_it")
    assert (command["program"], command["argv"]) == (None, [])


def test_a_step_that_starts_nothing_has_no_command_but_its_message(gert):
    request = asked(gert, "{id: ok, type: approval, message: Delete everything?}")
    assert (request["command"], request["message"]) == (None, "Delete everything?")


def test_the_request_of_a_runner_has_its_program_and_a_hash_of_the_variables_it_is_given(gert):
    """The values of variables are not shown; another value is another request."""
    runner = gert.root / "runner"
    runner.write_text(f"#!{sys.executable}\n")
    runner.chmod(0o755)
    step = "{id: act, type: extension, extension: ./runner, contract: {effects: [danger], writes: [production]}}"
    request = asked(gert, step, meta="inputs: {size: {type: int, default: 1}}, ")
    command = request["command"]
    assert (command["program"], command["argv"]) == (str(runner), ["./runner"])
    assert command["program_sha256"] == sha256(runner.read_bytes()).hexdigest()
    first = request["vars_hash"]
    assert first.startswith("sha256:")
    for run in gert.runs():
        run.rename(gert.root / run.name)
    assert asked(gert, step, "--var", "size=2", meta="inputs: {size: {type: int, default: 1}}, ")["vars_hash"] != first


def test_the_request_of_a_replay_is_the_same_on_every_machine(gert):
    program(gert)
    gert.write(tool_act=TOOL, book=BOOK)
    folder = gert.root / "scenarios" / "one"
    folder.mkdir(parents=True)
    answers = [{"approved": True, "approver_id": who} for who in ("ann", "bob")]
    scenario = {"tool_responses": {"act": [{"exit_code": 0}]}, "approvals": {"act": answers}}
    (folder / "scenario.yaml").write_text(json.dumps(scenario))
    said = gert("exec", "book.yaml", "--mode", "replay", "--scenario", str(folder), "--trace", "replayed.jsonl")
    assert said.code == 0, said.all
    events = [json.loads(line) for line in (gert.root / "replayed.jsonl").read_text().splitlines()]
    (submitted,) = [event["data"] for event in events if event["type"] == "approval_submitted"]
    command = submitted["request"]["command"]
    assert (command["program"], command["program_sha256"], command["cwd"]) == (None, None, None)
    assert command["argv"] == ["./act", "one <REDACTED:pin>"]


def test_a_request_may_change_three_times(gert):
    """Whatever changes again and again after its approval is an error in the end, also over several processes."""
    program(gert)
    gert.write(tool_act=TOOL, book=BOOK.replace("min_approvers: 2, ", ""))
    ticket = pending(gert)
    for number in range(3):
        assert gert("approve", ticket, "--as", "ann").code == 0
        program(gert, PROGRAM + f"# {number}\n")
        said = resume(gert)
        if number < 2:
            assert said["status"] == "approval_pending", said
            ticket = said["pending"][0]["ticket_id"]
    assert said["failure"]["kind"] == "approval_void", said
    assert [void["changed"] for void in of(gert, "approval_void")] == [["command.program_sha256"]] * 3
    assert not (gert.root / "acted").exists()
