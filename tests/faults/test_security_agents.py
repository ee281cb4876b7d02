"""An agent approves only where a rule names it itself: no group stands for one."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert
from people import BOOK, TOOL


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


def policy(gert: Gert, approvers: list[str], groups: dict | None = None) -> None:
    rule = {"effects": ["danger"], "action": "require-approval", "approvers": approvers}
    document = {"apiVersion": "policy/v0", "meta": {"name": "floor"}, "rules": [rule]}
    lines = json.dumps(document | ({} if groups is None else {"groups": groups}), indent=1)
    (gert.root / "floor.yaml").write_text(lines)


WAITING = ("exec", "book.yaml", "--policy", "floor.yaml", "--approval", "inbox", "--as", "olga", "--json")


@pytest.mark.parametrize("agent", ["agent:bot", "Agent:bot", "AGENT: bot"])
def test_an_agent_in_a_group_is_an_error_of_the_policy(gert, agent):
    policy(gert, ["group:ops"], {"ops": ["alice", agent]})
    said = gert(*WAITING)
    assert said.code == 2, said.all
    error = said.document["error"]
    assert (error["kind"], error["file"], error["line"]) == ("policy", "floor.yaml", 20), error
    assert f"group 'ops' has the agent {agent!r}" in error["message"]
    assert gert.runs() == []
    checked = gert("validate", "floor.yaml", "--json")
    assert checked.code == 1, checked.all
    (found,) = checked.document["diagnostics"]
    assert (found["rule"], found["line"]) == ("people-invalid", 20), found


def test_an_agent_in_a_group_that_no_rule_names_is_an_error_too(gert):
    policy(gert, ["alice"], {"ops": ["agent:bot"]})
    assert gert(*WAITING).code == 2


def test_an_agent_that_is_recorded_as_an_approver_does_not_count_where_the_rule_names_a_group(gert):
    policy(gert, ["agent:bot", "alice"])
    ticket = gert(*WAITING).document["pending"][0]["ticket_id"]
    assert gert("approve", ticket, "--as", "agent:bot").code == 0
    policy(gert, ["group:ops"], {"ops": ["agent:bot", "alice"]})
    said = gert("resume", "latest", "--on-drift", "allow")
    assert (said.code, "has the agent" in said.err) == (2, True), said.all
    policy(gert, ["group:ops"], {"ops": ["alice"]})
    said = gert("resume", "latest", "--on-drift", "allow", "--json")
    assert said.document["status"] == "approval_pending", said.all
    assert not (gert.root / "acted").exists()


def test_an_agent_that_the_rule_names_counts_beside_a_group(gert):
    policy(gert, ["agent:bot", "group:ops"], {"ops": ["alice"]})
    ticket = gert(*WAITING).document["pending"][0]["ticket_id"]
    assert gert("approve", ticket, "--as", "agent:bot").code == 0
    assert gert("resume", "latest", "--json").document["status"] == "completed"
