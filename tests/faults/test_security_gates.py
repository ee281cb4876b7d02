"""A step that is an approval itself is not passed by a result in the trace, nor by a trace that says who started the run."""

from __future__ import annotations

import json

import pytest
from forging import append, rewrite
from gertproc import Gert
from people import BOOK, TOOL, pair

from gert_core.engine.run import os_user

GATE = """\
apiVersion: kernel/v0
meta: {name: gate}
tools: [act]
steps:
  - {id: ask, type: approval, message: "Go on?", approvers: [alice]}
  - {id: act, type: tool, tool: act}
  - {type: end, outcome: {category: resolved, code: acted}}
"""
SIGNED = {"GERT_TRACE_SIGNING_KEY": pair(9)[0]}
RULES = [{"effects": ["danger"], "action": "require-approval", "exclude_actor": True}]
START = {"step_id": "ask", "type": "approval", "contract_summary": {"risk": "low"}, "inputs": {}}
DONE = {"step_id": "ask", "type": "approval", "status": "success", "outputs": {"approvers": ["alice"]}, "fields": {}}


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK, gate=GATE)
    people = {"alice": {"keys": [pair(1)[1]], "os": os_user()}, "bob": {"keys": [pair(2)[1]]}}
    policy = {"apiVersion": "policy/v0", "meta": {"name": "p"}, "people": people, "require_signed_approvals": True}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy | {"rules": RULES}))
    (tmp_path / "gert-project.yaml").write_text("name: here\npolicies: [policy.yaml]\n")
    return made


def waiting(gert, book: str, actor: str, **environ: str) -> str:
    said = gert("exec", book, "--approval", "inbox", "--as", actor, "--json", **environ)
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def approve(gert, ticket: str, who: str, number: int):
    return gert("approve", ticket, "--as", who, GERT_APPROVAL_SIGNING_KEY=pair(number)[0])


def forged(gert, *more: dict) -> None:
    """Cut the seal of a run that waits at its approval step, and write that the step is over."""
    trace = gert.run() / "trace.jsonl"
    trace.write_text("".join(trace.read_text().splitlines(keepends=True)[:-1]))
    (gert.run() / "state.json").unlink(missing_ok=True)
    events = [*more, {"type": "step_start", "data": START}, {"type": "step_complete", "data": DONE}]
    append(gert, *({"step_key": "ask", **event} for event in events))


@pytest.mark.parametrize("environ", [SIGNED, {}], ids=["signed", "unsigned"])
def test_a_result_written_into_the_trace_does_not_stand_for_an_approval(gert, environ):
    ticket = waiting(gert, "gate.yaml", "olga", **environ)
    told = {"ticket_id": ticket, "step_id": "ask", "approved": True, "approver_id": "alice"}
    answer = {**told, "method": "inbox", "timestamp": gert.events()[-1]["timestamp"], "result": "counted"}
    resolved = {**told, "status": "approved", "approvers": ["alice"], "verified": True, "method": "inbox"}
    forged(gert, {"type": "approval_response", "data": answer}, {"type": "approval_resolved", "data": resolved})
    said = gert("resume", "latest", **environ)
    assert said.code == 1, said.all
    assert "the result of step ask in the trace stands for an approval that cannot be verified" in said.all
    assert not (gert.root / "acted").exists()


@pytest.mark.parametrize("environ", [SIGNED, {}], ids=["signed", "unsigned"])
def test_a_run_goes_on_behind_an_approval_step_that_was_approved(gert, environ):
    ticket = waiting(gert, "gate.yaml", "olga", **environ)
    assert approve(gert, ticket, "alice", 1).code == 0
    said = gert("resume", "latest", "--json", **environ)
    second = said.document["pending"][0]["ticket_id"]
    assert approve(gert, second, "bob", 2).code == 0
    said = gert("resume", "latest", "--json", **environ)
    assert said.document["status"] == "completed", said.all


def require_signatures_by_the_environment(gert) -> dict[str, str]:
    policy = {"apiVersion": "policy/v0", "meta": {"name": "p"}, "require_signed_approvals": True, "rules": RULES}
    (gert.root / "policy.yaml").write_text(json.dumps(policy))
    return {"GERT_APPROVAL_VERIFY_KEY": pair(1)[1]}


def test_a_result_does_not_stand_for_an_approval_whose_key_is_in_the_environment(gert):
    environ = require_signatures_by_the_environment(gert)
    waiting(gert, "gate.yaml", "olga", **environ)
    forged(gert)
    for given in (environ, {}):
        said = gert("resume", "latest", **given)
        assert said.code == 1, said.all
        assert "stands for an approval that cannot be verified: there is none" in said.all
    assert not (gert.root / "acted").exists()


def test_a_run_goes_on_behind_an_approval_that_a_key_of_the_environment_verifies(gert):
    environ = require_signatures_by_the_environment(gert)
    ticket = waiting(gert, "gate.yaml", "olga", **environ)
    assert approve(gert, ticket, "alice", 1).code == 0
    second = gert("resume", "latest", "--json", **environ).document["pending"][0]["ticket_id"]
    assert approve(gert, second, "bob", 1).code == 0
    said = gert("resume", "latest", "--json")
    assert (said.code, said.document["error"]["kind"]) == (1, "approval_unverified"), said.all
    said = gert("resume", "latest", "--json", **environ)
    assert said.document["status"] == "completed", said.all


def test_who_started_a_run_is_also_known_by_whose_its_directory_is(gert):
    waiting(gert, "book.yaml", "alice")

    def edit(events: list[dict]) -> list[dict]:
        events[0]["data"] |= {"actor": "bob", "os_user": "bob"}
        return events

    rewrite(gert, edit)
    ticket = gert("resume", "latest", "--json").document["pending"][0]["ticket_id"]
    approve(gert, ticket, "alice", 1)
    said = gert("resume", "latest", "--json")
    assert said.document["status"] == "approval_pending", "alice approves what alice started"
    assert not (gert.root / "acted").exists()


ASK = '  - {id: ask, type: approval, message: "Go on?"}\n'
ACT = "  - {id: act, type: tool, tool: act}\n"
ARMS = """\
  - id: choose
    type: branch
    branches:
      - {condition: "{{ CHOSEN }}", steps: [{id: ask, type: approval, message: m}]}
      - {condition: "{{ true }}", steps: [{id: act, type: tool, tool: act}]}
"""


def ungoverned(root, steps: str) -> Gert:
    made = Gert(root)
    made.write(tool_act=TOOL, gate=f"apiVersion: kernel/v0\nmeta: {{name: gate}}\ntools: [act]\nsteps:\n{steps}{END}")
    return made


END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ASK + ACT, ACT),
        (ASK + ACT, ASK.replace("message", 'when: "{{ false }}", message') + ACT),
        (ASK + ACT, ACT + ASK),
        (ASK + ACT, ASK.replace("id: ask", "id: other") + ACT),
        (ARMS.replace("CHOSEN", "true"), ARMS.replace("CHOSEN", "false")),
    ],
    ids=["removed", "skipped", "moved", "renamed", "another arm"],
)
def test_no_changed_runbook_goes_on_without_an_approval_that_its_step_asked_for(tmp_path, before, after):
    gert = ungoverned(tmp_path, before)
    waiting(gert, "gate.yaml", "olga")
    ungoverned(tmp_path, after)
    said = gert("resume", "--run", gert.run().name, "--on-drift", "allow", "--json")
    assert (said.code, said.document["error"]["kind"]) == (1, "drift"), said.all
    assert "without the approval of step" in said.document["error"]["message"]
    assert not (tmp_path / "acted").exists()


def test_a_changed_runbook_that_still_asks_goes_on_when_that_is_approved(tmp_path):
    gert = ungoverned(tmp_path, ASK + ACT)
    waiting(gert, "gate.yaml", "olga")
    ungoverned(tmp_path, ASK + ACT.replace("id: act", "id: do_it"))
    resume = ("resume", "--run", gert.run().name, "--on-drift", "allow", "--json")
    ticket = gert(*resume).document["pending"][0]["ticket_id"]
    assert gert("approve", ticket, "--as", "ann").code == 0
    said = gert(*resume)
    assert said.document["status"] == "completed", said.all
    assert (tmp_path / "acted").exists()


def test_no_changed_runbook_says_that_it_goes_on_after_a_rejection(tmp_path):
    gert = ungoverned(tmp_path, ASK + ACT)
    ticket = waiting(gert, "gate.yaml", "olga")
    assert gert("reject", ticket, "--as", "ann").code == 0
    ungoverned(tmp_path, ASK.replace("message", "on_reject: fail, continue_on_fail: true, message") + ACT)
    said = gert("resume", "--run", gert.run().name, "--on-drift", "allow", "--json")
    assert (said.code, said.document["status"]) == (1, "failed"), said.all
    assert not (tmp_path / "acted").exists()
