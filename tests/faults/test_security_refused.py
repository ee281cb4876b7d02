"""A resume that is refused leaves a run as it stands, and one that goes on says what it waits for."""

from __future__ import annotations

import pytest
from gertproc import Gert
from people import TOOL

HEAD = "apiVersion: kernel/v0\nmeta: {name: gate}\ntools: [act]\nsteps:\n"
ACT = "{id: act, type: tool, tool: act}"
GATE = "{id: gate, type: approval, message: m}"
END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"
DENIED = HEAD.replace("{name: gate}", "{name: gate, governance: {rules: [{effects: [danger], action: deny}]}}")
REPLACED = f"  - {{id: gate, type: parallel, branches: [{{steps: []}}]}}\n  - {ACT}\n"
PAIR = "  - {id: b, type: parallel, branches: [{steps: [%s]}, {steps: [%s]}, {steps: [%s]}]}\n"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL)
    return made


def write(gert: Gert, steps: str, head: str = HEAD) -> None:
    gert.write(gate=head + steps + END)


def resumed(gert: Gert, *more: str):
    return gert("resume", "--run", gert.run().name, "--on-drift", "allow", "--json", *more)


def told(gert: Gert) -> str:
    """How the run is listed; its trace is whole."""
    verified = gert("trace", "verify", str(gert.run() / "trace.jsonl"))
    assert verified.code == 0, verified.all
    (row,) = gert("runs", "list", "--json").document["runs"]
    return row["status"]


def test_a_refused_resume_leaves_a_run_that_waits_waiting(gert):
    write(gert, f"  - {GATE}\n  - {ACT}\n")
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--as", "olga", "--json")
    ticket = said.document["pending"][0]["ticket_id"]
    write(gert, REPLACED)
    for _ in range(2):
        assert resumed(gert).document["error"]["kind"] == "drift"
        assert told(gert) == "approval_pending"
    write(gert, f"  - {GATE}\n  - {ACT}\n")
    assert gert("approve", ticket, "--as", "ann").code == 0
    assert gert("resume", "--run", gert.run().name, "--json").document["status"] == "completed"


def test_a_refused_retry_leaves_a_run_that_can_be_resumed(gert):
    check = "{id: ok, type: assert, assert: [{type: equals, value: 1, expected: 1}]}"
    write(gert, f"  - {check}\n  - {ACT}\n", DENIED)
    assert gert("exec", "gate.yaml", "--as", "olga", "--no-preflight").code == 1
    skipped = ACT.replace("}", ", when: false}")
    write(gert, f"  - {check}\n  - {skipped}\n  - {ACT.replace('id: act', 'id: act2')}\n")
    for retry in (["--retry-failed"], []):
        assert resumed(gert, *retry).document["error"]["kind"] == "drift"
        assert told(gert) == "queued"
    assert not (gert.root / "acted").exists()


def test_a_retry_of_a_step_that_is_gone_leaves_a_run_as_it_was(gert):
    write(gert, f"  - {ACT}\n", DENIED)
    assert gert("exec", "gate.yaml", "--as", "olga", "--no-preflight").code == 1
    write(gert, f"  - {ACT.replace('id: act', 'id: act2')}\n")
    assert resumed(gert, "--retry-failed").document["error"]["kind"] == "drift"
    assert told(gert) == "failed"
    assert not (gert.root / "acted").exists()


def test_approvals_given_one_by_one_after_a_change_need_no_resume_of_their_own(gert):
    other = GATE.replace("id: gate", "id: other, scope: o")
    write(gert, PAIR % (GATE, other, ACT.replace("id: act", "id: act, when: false")))
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert len(said.document["pending"]) == 2, said.all
    write(gert, PAIR % (GATE, other, ACT.replace("id: act", "id: late")))
    said = resumed(gert)
    while said.document["status"] == "approval_pending":
        pending = said.document["pending"]
        assert pending, said.all
        assert gert("approve", pending[-1]["ticket_id"], "--as", "ann").code == 0
        said = resumed(gert)
    assert said.document["status"] == "completed", said.all
    assert (gert.root / "acted").exists()


TOLERANT = "{id: gate, type: approval, message: m, on_reject: fail, continue_on_fail: true}"
FAILS = "{id: bad, type: assert, assert: [{type: equals, value: 1, expected: %s}]}"
GUARDED = ACT.replace("id: act", "id: act, when: '{{ eq .gate.status \"success\" }}'")
AFTER = {
    "the condition is gone": f"  - {TOLERANT}\n  - {FAILS % 1}\n  - {ACT}\n",
    "the approval is gone": f"  - {FAILS % 1}\n  - {ACT}\n",
    "in the cleanup": f"  - {TOLERANT}\n  - {FAILS % 2}\n{END}finally:\n  - {ACT}\n",
}


@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER)
def test_no_changed_runbook_says_what_follows_on_a_rejection_that_its_run_went_on_after(gert, after):
    write(gert, f"  - {TOLERANT}\n  - {FAILS % 2}\n  - {GUARDED}\n")
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert gert("reject", said.document["pending"][0]["ticket_id"], "--as", "ann").code == 0
    assert resumed(gert).document["status"] == "failed"
    gert.write(gate=HEAD + after + ("" if END in after else END))
    for _ in range(2):
        said = resumed(gert, "--retry-failed")
        assert said.document.get("error", {}).get("kind") in ("drift", "not_resumable"), said.all
    assert not (gert.root / "acted").exists()


def test_a_run_goes_on_after_a_rejection_as_the_runbook_of_its_start_says(gert):
    write(gert, f"  - {TOLERANT}\n  - {ACT}\n")
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert gert("reject", said.document["pending"][0]["ticket_id"], "--as", "ann").code == 0
    assert resumed(gert).document["status"] == "completed"
    assert (gert.root / "acted").exists()
