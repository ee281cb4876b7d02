"""What was decided about a step of a run holds when the step runs again, also once everything is as at the start."""

from __future__ import annotations

import json

import pytest
from forging import rewrite
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: {name: book}
tools: [act]
steps:
  - {id: gate, type: approval, message: go}
  - {id: act, type: tool, tool: act}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: ./act}
contract: {effects: [TAG], writes: [production], idempotent: true}
actions: {run: {argv: [act]}}
"""
POLICY = "apiVersion: policy/v0\nmeta: {name: p}\nrules: [{effects: [danger], action: ACTION}]\n"
ASK, TWO = "require-approval", "require-approval, min_approvers: 2"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK, tool_act=TOOL.replace("TAG", "danger"), policy=POLICY.replace("ACTION", "allow"))
    (tmp_path / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
    (tmp_path / "act").write_text("#!/bin/sh\necho x >> acted\nexit 3\n")
    (tmp_path / "act").chmod(0o755)
    return made


def acted(gert) -> int:
    file = gert.root / "acted"
    return len(file.read_text().splitlines()) if file.exists() else 0


def resume(gert, *more: str) -> dict:
    said = gert("resume", "--run", gert.run().name, "--json", *more)
    assert said.out, said.all
    return json.loads(said.out)


def until_over(gert, *people: str) -> dict:
    """Approve what the run asks for while drift is allowed, until it is over."""
    for _ in range(6):
        found = resume(gert, "--on-drift", "allow")
        if found["status"] != "approval_pending":
            return found
        for person in people:
            gert("approve", found["pending"][0]["ticket_id"], "--as", person)
    raise AssertionError(found)


@pytest.mark.parametrize("decided", ["deny", ASK, TWO])
@pytest.mark.parametrize("where", ["policy", "tool"])
def test_a_document_put_back_does_not_take_back_what_was_decided(gert, decided, where):
    """A changed policy, or a tag that a changed tool has, stops the step; with the documents of the start it runs again."""
    mild = {"policy": POLICY.replace("ACTION", "allow")}
    strict = {"policy": POLICY.replace("ACTION", decided)}
    if where == "tool":
        gert.write(**strict)
        mild, strict = {"tool_act": TOOL.replace("TAG", "mild")}, {"tool_act": TOOL.replace("TAG", "danger")}
    gert.write(**mild)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    gert.write(**strict)
    assert until_over(gert, "ann", "bob")["status"] == "failed"
    before = acted(gert)
    assert before == (decided != "deny")
    gert.write(**mild)
    found = resume(gert, "--retry-failed")
    if where == "tool":  # the gate was passed for other documents, and is asked for again first
        (gate,) = found["pending"]
        assert (gate["step_key"], acted(gert)) == ("gate", before)
        assert gert("approve", gate["ticket_id"], "--as", "ann").code == 0
        found = resume(gert)
    assert acted(gert) == before, "it ran under a milder decision than that of this run"
    if decided == "deny":
        assert found["failure"]["kind"] == "governance_denied"
        return
    ticket = found["pending"][0]["ticket_id"]
    for number, person in enumerate(("ann", "bob") if decided == TWO else ("ann",)):
        assert acted(gert) == before, f"{number} people approved it"
        assert gert("approve", ticket, "--as", person).code == 0
        resume(gert)
    assert acted(gert) == before + 1


def test_a_step_that_runs_again_under_the_same_policies_is_decided_as_before(gert):
    gert.write(policy=POLICY.replace("ACTION", TWO))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    assert until_over(gert, "ann", "bob")["status"] == "failed"
    assert resume(gert, "--retry-failed")["status"] == "approval_pending"
    decided = [e["data"] for e in gert.events() if e["type"] == "governance_decision" and e["step_key"] == "act"]
    assert decided[0] == decided[-1]
    assert all(data == decided[0] for data in decided)


def at_the_step(gert, *more: str) -> str:
    """Resume, and approve the gate, until the step waits for its approval; return its ticket."""
    for _ in range(4):
        found = resume(gert, *more)
        assert "error" not in found, found
        assert found["status"] == "approval_pending", found
        (one,) = found["pending"]
        if one["step_key"] == "act":
            return str(one["ticket_id"])
        assert gert("approve", one["ticket_id"], "--as", "ann").code == 0
    raise AssertionError(found)


@pytest.mark.parametrize("flag", [(), ("--on-drift", "allow")], ids=["refuse", "allow"])
def test_a_policy_put_back_after_it_decided_about_a_new_step_is_no_altered_trace(gert, flag):
    """The step is decided about for the first time while the policy is softer, and waits; nobody touched the trace."""
    gert.write(policy=POLICY.replace("ACTION", TWO))
    assert gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga").code == 0
    gert.write(policy=POLICY.replace("ACTION", ASK))
    softer = at_the_step(gert, "--on-drift", "allow")
    gert.write(policy=POLICY.replace("ACTION", TWO))
    ticket = at_the_step(gert, *flag)
    assert ticket != softer
    for number, person in enumerate(("ann", "bob")):
        assert acted(gert) == 0, f"{number} people approved it"
        assert gert("approve", ticket, "--as", person).code == 0
        resume(gert, *flag)
    assert acted(gert) == 1


def test_allowing_drift_changes_no_request_where_nothing_is_drift(gert):
    gert.write(policy=POLICY.replace("ACTION", TWO))
    assert gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga").code == 0
    at_the_step(gert)
    gert.write(policy=POLICY.replace("ACTION", ASK))
    at_the_step(gert, "--on-drift", "allow")
    gert.write(policy=POLICY.replace("ACTION", TWO))
    tickets = {at_the_step(gert, *flag) for flag in [(), ("--on-drift", "allow"), (), ("--on-drift", "allow")]}
    assert len(tickets) == 1


def test_what_helps_is_said_where_documents_were_put_back(gert):
    """The trace follows a changed tool: with that of the start it is not followed, unless results are taken by their key."""
    gert.write(
        policy=POLICY.replace("ACTION", ASK), book=BOOK.replace("type: approval, message", "type: manual, instructions")
    )
    assert gert("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend", "--as", "olga").code == 0
    assert gert("answer", "latest", "gate", "confirm=yes").code == 0
    gert.write(tool_act=TOOL.replace("TAG", "danger, more"))
    at_the_step(gert, "--on-drift", "allow")
    gert.write(tool_act=TOOL.replace("TAG", "danger"))
    error = resume(gert)["error"]
    assert (error["kind"], error["hint"].split()[-2:]) == ("resume_diverged", ["--on-drift", "allow"]), error
    at_the_step(gert, "--on-drift", "allow")


@pytest.mark.parametrize("decision", ["garbage", "Allow", "", "require-approval ", None])
@pytest.mark.parametrize("more", [(), ("--on-drift", "allow")])
def test_a_planted_decision_that_no_policy_makes_is_an_altered_trace(gert, decision, more):
    """It was an error of Python's."""
    gert.write(policy=POLICY.replace("ACTION", ASK))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    at_the_step(gert)

    def planted(events: list[dict]) -> list[dict]:
        for one in events:
            if one["type"] == "governance_decision" and one["step_key"] == "act":
                one["data"]["decision"] = decision
        return events

    rewrite(gert, planted)
    refused = gert("resume", "--run", gert.run().name, *more)
    assert (refused.code != 0, "which no policy decides" in refused.err, acted(gert)) == (True, True, 0), refused.all
