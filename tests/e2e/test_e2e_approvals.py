"""Whole runs through approvals: pending, answered with signatures, resumed, verified, and cheats that fail."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from msgspec.structs import replace
from shell import Shell, wait_for

from gert_core.api import ApprovalResponse
from gert_core.approvals import verify_response
from gert_core.kit.tickets import TicketStore
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryRun

TOOL = """\
apiVersion: tool/v0
meta: {name: box, transport: stdio, binary: touch}
actions:
  write:
    argv: ["touch", "{{ .what }}"]
    contract:
      effects: [filesystem]
      writes: [production]
      inputs: {what: {type: string}}
"""
RUNBOOK = """\
apiVersion: kernel/v0
meta:
  name: sample
  governance:
    require_signed_approvals: true
    rules:
      - {writes: [production], action: require-approval, min_approvers: 2, exclude_actor: true}
tools: [box]
steps:
  - {id: write, type: tool, tool: box, action: write, inputs: {what: written}}
  - {id: done, type: end, outcome: {category: resolved, code: up}}
"""


def pair():
    private = Ed25519PrivateKey.generate()
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return base64.b64encode(raw).decode(), base64.b64encode(public).decode()


class ApprovalProcess:
    """A directory with the runbook, two approvers' keys, and gert as separate processes."""

    def __init__(self, root):
        self.root = root
        (root / "tools").mkdir()
        (root / "tools" / "box.tool.yaml").write_text(TOOL)
        (root / "sample.yaml").write_text(RUNBOOK)
        self.keys = {name: pair() for name in ("alice", "bob", "mallory")}
        self.verify = {
            "GERT_APPROVAL_VERIFY_KEY_ALICE": self.keys["alice"][1],
            "GERT_APPROVAL_VERIFY_KEY_BOB": self.keys["bob"][1],
            "GERT_APPROVAL_VERIFY_ALG": "ed25519",
        }

    def gert(self, *args, code=0, stdin="", **environ):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        done = subprocess.run(
            [sys.executable, "-m", "gert_core", *args],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.root,
            input=stdin,
            env={**clean, "GERT_ACTOR": "olga", **environ},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def start(self):
        done = self.gert("exec", "sample.yaml", "--approval", "inbox", "--json")
        result = json.loads(done.stdout)
        assert result["status"] == "approval_pending"
        return result["run_id"], result["pending"][0]["ticket_id"]

    def approve(self, ticket, who, *, key=None, code=0):
        return self.gert(
            "approve",
            ticket,
            "--as",
            who,
            code=code,
            GERT_APPROVAL_SIGNING_KEY=self.keys[key or who][0],
            GERT_APPROVAL_SIGNING_KEY_ID=who,
            GERT_APPROVAL_SIGNING_ALG="ed25519",
        )

    def resume(self, run, *, code=0, **more):
        return json.loads(self.gert("resume", "--run", run, "--json", code=code, **self.verify, **more).stdout)

    def events(self, run, *kinds):
        lines = (self.root / "runs" / run / "trace.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [event["data"] for event in found if event["type"] in kinds]

    def store(self, run):
        return TicketStore(DirectoryRun(self.root / "runs" / run))

    @property
    def written(self):
        return (self.root / "written").exists()


@pytest.fixture
def desk(tmp_path):
    return ApprovalProcess(tmp_path)


def test_two_signed_approvals_from_different_keys_let_the_run_go_on_and_verify_offline(desk):
    run, ticket = desk.start()
    assert not desk.written
    desk.approve(ticket, "alice")
    assert desk.resume(run)["status"] == "approval_pending"
    assert not desk.written
    desk.approve(ticket, "bob")
    assert desk.resume(run)["status"] == "completed"
    assert desk.written
    desk.gert("trace", "verify", f"runs/{run}/trace.jsonl")
    assert len(desk.events(run, "approval_submitted")) == 1
    (resolved,) = desk.events(run, "approval_resolved")
    assert (resolved["approvers"], resolved["verified"]) == (["alice", "bob"], True)
    submitted = desk.events(run, "approval_submitted")[0]
    responses = desk.events(run, "approval_response")
    assert [data["approver_id"] for data in responses] == ["alice", "bob"]
    schemes = Registry.build().signature_scheme
    for data in responses:
        facts = {name: data[name] for name in ApprovalResponse.__slots__ if name in data}
        verify_response(
            ApprovalResponse(**facts),
            request_hash=submitted["request_hash"],
            schemes=schemes,
            environ=desk.verify,
        )


def test_a_rejection_fails_the_run_without_executing(desk):
    run, ticket = desk.start()
    desk.gert("reject", ticket, "--as", "bob", "--reason", "no window")
    assert desk.resume(run, code=1)["status"] == "failed"
    assert not desk.written
    assert desk.events(run, "approval_resolved")[0]["reason"] == "approval_rejected"


def test_an_answer_signed_with_a_foreign_key_is_a_rejection(desk):
    run, ticket = desk.start()
    desk.approve(ticket, "alice", key="mallory")
    assert desk.resume(run, code=1)["status"] == "failed"
    assert not desk.written
    assert desk.events(run, "contract_violation")[0]["kind"] == "signature_wrong"


def test_an_altered_answer_file_is_a_rejection(desk):
    run, ticket = desk.start()
    desk.approve(ticket, "alice")
    (file,) = (desk.root / "runs" / run / "tickets" / f"{ticket}.answers").iterdir()
    file.write_text(file.read_text().replace('"alice"', '"carol"', 1))
    assert desk.resume(run, code=1)["status"] == "failed"
    assert not desk.written


def test_an_approval_of_one_run_does_not_open_another(desk):
    first, ticket = desk.start()
    second, other = desk.start()
    assert ticket != other
    desk.approve(ticket, "alice")
    desk.approve(ticket, "bob")
    for _, answer in desk.store(first).answers(ticket):
        desk.store(second).answer(replace(answer, ticket_id=other))
    assert desk.resume(second, code=1)["status"] == "failed"
    assert not desk.written


def test_the_one_who_started_the_run_stays_excluded_when_somebody_else_resumes(desk):
    run, ticket = desk.start()
    desk.approve(ticket, "alice")
    desk.verify["GERT_APPROVAL_VERIFY_KEY_OLGA"] = desk.keys["bob"][1]
    own = desk.approve(ticket, "olga", key="bob", code=1)
    assert "started the run" in own.stderr
    scheme = Registry.build().signature_scheme("ed25519")
    from gert_core.approvals import sign_response

    request = desk.store(run).get(ticket)
    (first,) = [answer for _, answer in desk.store(run).answers(ticket)]
    forged = sign_response(
        replace(first, approver_id="olga"),
        request_hash=request.request_hash,
        scheme=scheme,
        key=base64.b64decode(desk.keys["bob"][0]),
        key_id="olga",
    )
    desk.store(run).answer(forged)
    assert desk.resume(run, GERT_ACTOR="pat")["status"] == "approval_pending"
    assert not desk.written
    assert desk.events(run, "approval_response")[-1]["problem"] == "approval_own_actor"


def test_at_the_terminal_a_line_per_approver_is_enough(desk):
    text = RUNBOOK.replace("    require_signed_approvals: true\n", "")
    (desk.root / "sample.yaml").write_text(text)
    done = desk.gert("exec", "sample.yaml", "--json", stdin="y\nperhaps\ny alice: ok\ny alice\ny bob\n")
    result = json.loads(done.stdout)
    assert result["status"] == "completed"
    assert desk.written
    answers = desk.events(result["run_id"], "approval_response")
    assert [(data["approver_id"], data.get("problem")) for data in answers] == [
        ("olga", "approval_own_actor"),
        ("alice", None),
        ("alice", "approval_duplicate"),
        ("bob", None),
    ]


@pytest.mark.parametrize(
    ("flags", "stdin"), [((), ""), ((), "perhaps\n"), (("--no-input", "--no-preflight"), "y ann\ny ben\n")]
)
def test_where_nobody_answers_the_step_is_rejected_and_no_person_is_named(desk, flags, stdin):
    done = desk.gert("exec", "sample.yaml", "--json", *flags, stdin=stdin, code=1)
    result = json.loads(done.stdout)
    assert (result["status"], result["failure"]["kind"]) == ("failed", "approval_no_answer")
    assert "--approval inbox" in done.stderr
    (resolved,) = desk.events(result["run_id"], "approval_resolved")
    assert (resolved["approved"], resolved["approver_id"]) == (False, None)
    assert desk.events(result["run_id"], "approval_response") == []
    assert not desk.written


def test_the_exit_code_of_a_pending_run_is_the_one_asked_for(desk):
    done = desk.gert("exec", "sample.yaml", "--approval", "inbox", "--pending-exit-code", "75", code=75)
    (run,) = (path.name for path in (desk.root / "runs").glob("[!.]*"))
    assert "Approval pending [real]" in done.stdout.splitlines()
    assert f"\n  then: gert resume --run {run}  #" in done.stdout
    desk.gert("resume", "--run", run, "--pending-exit-code", "9", code=9)
    for wrong in ("256", "-1"):
        done = desk.gert("exec", "sample.yaml", "--approval", "inbox", f"--pending-exit-code={wrong}", code=2)
        assert "0 to 255" in done.stderr
    assert len(list((desk.root / "runs").glob("[!.]*"))) == 1


def test_the_trace_of_a_run_that_is_over_is_not_read_for_the_list_of_open_tickets(tmp_path):
    shell = Shell(tmp_path)
    shell.book("- { id: gate, type: approval, message: Go on? }")
    over = shell.json("exec", "book.yaml", "--approval", "inbox")
    shell.gert("approve", over["pending"][0]["ticket_id"], "--as", "alice")
    shell.gert("resume", over["run_id"])
    waits = shell.json("exec", "book.yaml", "--approval", "inbox")
    trace = shell.root / "runs" / over["run_id"] / "trace.jsonl"
    first, _, *rest = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join([first, b"not a line of a trace\n", *rest]))  # reading all of it fails
    listed = shell.json("approvals", "list")
    assert [ticket["request"]["run_id"] for ticket in listed["approvals"]] == [waits["run_id"]]
    assert listed["unreadable"] == []
    everything = shell.json("approvals", "list", "--all")
    assert [one["run_id"] for one in everything["unreadable"]] == [over["run_id"]]


def test_a_run_that_was_cancelled_keeps_its_open_ticket(tmp_path):
    shell = Shell(tmp_path)
    shell.write("gert-project.yaml", "approvals: { provider: inbox, config: { wait: 30 } }\n")
    shell.book("- { id: gate, type: approval, message: Go on? }")
    running = shell.start("exec", "book.yaml")
    wait_for(lambda: shell.runs() and list(shell.runs()[0].glob("tickets/*.json")))
    running.terminate()
    running.communicate(timeout=20)
    (ticket,) = shell.json("approvals", "list")["approvals"]
    assert ticket["status"] == "pending"
    run_id = shell.json("runs", "list")["runs"][0]["run_id"]
    shell.gert("resume", run_id, "--abort", code=None)
    assert shell.json("approvals", "list")["approvals"] == []
