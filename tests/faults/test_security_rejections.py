"""A rejection that nobody has read so far ends its run, whoever is asked when the run goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from binding import BOOK, acted, approve, bound_gert, of, pending, program, resume
from people import pair

OTHER = "#!/bin/sh\necho other >> acted\n"
STDIN = ("--approval", "stdin", "--as", "mallory")
GATE = BOOK.replace("EXCLUDE", "false").replace("require-approval, exclude_actor: false", "allow")
GATE = GATE.replace("steps:\n", "steps:\n  - {id: gate, type: approval, message: go}\n")


@pytest.fixture
def gert(tmp_path):
    return bound_gert(tmp_path)


def reject(gert, ticket, **environ):
    said = gert("reject", ticket, "--as", "ann", "--reason", "not today", **environ)
    assert said.code == 0, said.all


@pytest.mark.parametrize("change", ["nothing", "program", "gate"])
def test_a_rejection_in_the_inbox_is_final_when_the_run_goes_on_with_another_provider(gert, change):
    if change == "gate":
        gert.write(book=GATE)
    ticket = pending(gert)
    reject(gert, ticket)
    if change == "program":
        program(gert, OTHER)
    said = gert("resume", "--run", gert.run().name, "--json", *STDIN, answers="y eve\n" * 2)
    assert said.document["status"] == "failed", said.all
    (resolved,) = of(gert, "approval_resolved")
    assert (resolved["ticket_id"], resolved["status"], resolved["approver_id"]) == (ticket, "rejected", "ann")
    assert [data["approver_id"] for data in of(gert, "approval_response")] == ["ann"]
    assert (len(of(gert, "approval_submitted")), of(gert, "approval_void"), acted(gert)) == (1, [], [])
    assert gert("resume", "--run", gert.run().name, "--retry-failed", *STDIN, answers="y eve\n").code == 1
    assert acted(gert) == []


def test_that_holds_in_a_database_too(gert):
    gert.environ["GERT_STORE"] = f"sqlite:{gert.root}/runs.db"
    started = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json").document
    reject(gert, started["pending"][0]["ticket_id"])
    said = gert("resume", "--run", started["run_id"], "--json", *STDIN, answers="y eve\n")
    assert said.document["failure"]["kind"] == "approval_rejected", said.all
    assert acted(gert) == []


def test_a_signed_rejection_is_not_followed_by_another_ticket(gert):
    """The program is exchanged, so that somebody else could sign what is asked about then."""
    (ann, public), (bob, other) = pair(1), pair(2)
    people = f'{{ann: {{keys: ["{public}"]}}, bob: {{keys: ["{other}"]}}}}'
    rule = "{effects: [danger], action: require-approval, approvers: [ann, bob]}"
    gert.write(
        **{"gert-project": "policies: [pol.yaml]\n"},
        pol=f"apiVersion: policy/v0\nmeta: {{name: pol}}\npeople: {people}\nrequire_signed_approvals: true\nrules: [{rule}]\n",
    )
    ticket = pending(gert)
    reject(gert, ticket, GERT_APPROVAL_SIGNING_KEY=ann)
    program(gert, OTHER)
    said = gert("resume", "--run", gert.run().name, "--json", *STDIN, answers="\n")
    assert said.document["failure"]["kind"] == "approval_rejected", said.all
    assert [data["ticket_id"] for data in of(gert, "approval_submitted")] == [ticket]
    assert gert("approve", ticket, "--as", "bob", GERT_APPROVAL_SIGNING_KEY=bob).code == 1


def test_an_approval_in_the_inbox_is_no_answer_of_another_provider(gert):
    """Only a rejection is final: what else waits there counts when the inbox is asked."""
    approve(gert, pending(gert))
    said = gert("resume", "--run", gert.run().name, "--json", *STDIN, answers="n bob: no\n")
    assert said.document["status"] == "failed", said.all
    assert [data["approver_id"] for data in of(gert, "approval_response")] == ["bob"]


HIDE = """\
import os
open_ = os.open
def hiding(path, *rest, **more):
    if ".answers/" in os.fsdecode(path) and os.fsdecode(path).endswith(".json"):
        raise PermissionError(13, "Permission denied")
    return open_(path, *rest, **more)
os.open = hiding
"""


@pytest.mark.parametrize("changed", [False, True], ids=["unchanged", "changed"])
def test_an_answer_that_may_not_be_read_may_be_a_rejection_for_every_provider(gert, changed):
    ticket = pending(gert)
    reject(gert, ticket)
    if changed:
        program(gert, OTHER)
    site = gert.root / "hiding"
    site.mkdir()
    (site / "sitecustomize.py").write_text(HIDE)
    path = os.pathsep.join((str(site), *filter(None, [gert.environ.get("PYTHONPATH")])))
    for provider in ("stdin", "inbox"):
        argv = ["resume", "--run", gert.run().name, "--approval", provider]
        done = subprocess.run(
            [sys.executable, "-m", "gert_core", *argv],
            cwd=gert.root,
            env={**gert.environ, "PYTHONPATH": path},
            input="y eve\n",
            check=False,
            capture_output=True,
            text=True,
        )
        assert "Permission denied" in done.stderr, done.stdout + done.stderr
        assert done.returncode == (0 if provider == "inbox" and not changed else 1), done.stderr
        assert (len(of(gert, "approval_submitted")), of(gert, "approval_resolved"), acted(gert)) == (1, [], [])
    assert resume(gert)["failure"]["kind"] == "approval_rejected"


def test_a_rejection_that_comes_while_somebody_else_is_asked_is_final(gert):
    ticket = pending(gert)
    argv = [sys.executable, "-m", "gert_core", "resume", "--run", gert.run().name, *STDIN]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=gert.root, env=gert.environ, stdin=pipe, stdout=pipe, stderr=pipe) as asking:
        said = b""
        while b"y|n" not in said:
            part = asking.stderr.read1(4096)
            assert part, said
            said += part
        reject(gert, ticket)
        asking.communicate(b"y eve\n", timeout=30)
    assert asking.returncode == 1
    assert [data["approver_id"] for data in of(gert, "approval_response")] == ["ann"]
    assert acted(gert) == []
