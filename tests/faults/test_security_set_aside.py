"""Answers that their run set aside: it may know more than who looks at the ticket, and they block no other answer."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert
from people import BOOK, TOOL, pair

from gert_core.hosting import Host

ALICE, ALICE_KEY = pair(1)
SIGNED = {"GERT_APPROVAL_SIGNING_KEY": ALICE}
PEOPLE = {"alice": {"keys": [ALICE_KEY]}}


def policy(**more):
    rule = {"effects": ["danger"], "action": "require-approval"}
    return json.dumps({"apiVersion": "policy/v0", "meta": {"name": "keys"}, "rules": [rule], "people": PEOPLE, **more})


@pytest.fixture
def waiting(tmp_path):
    """A run that waits, with people whom only its own ``--policy`` declares, and its ticket."""
    gert = Gert(tmp_path)
    gert.write(tool_act=TOOL, book=BOOK, keys=policy())
    said = gert("exec", "book.yaml", "--policy", "keys.yaml", "--approval", "inbox", "--as", "olga", "--json")
    return gert, said.document["pending"][0]["ticket_id"]


def set_aside(gert, ticket):
    """Give an answer that counts as far as the commands know, and have the run read it."""
    assert gert("approve", ticket, "--as", "alice").code == 0
    said = gert("resume", "latest", "--json").document
    assert said["status"] == "approval_pending"
    return said


def test_who_was_set_aside_can_answer_again_so_that_it_counts(waiting):
    gert, ticket = waiting
    said = set_aside(gert, ticket)
    assert [" ".join(step["command"][:2]) for step in said["next"]] == ["gert approve", "gert reject", "gert resume"]
    (listed,) = gert("approvals", "list", "--json").document["approvals"]
    assert (listed["status"], listed["approvers"]) == ("pending", [])
    signed = gert("approve", ticket, "--as", "alice", "--json", **SIGNED)
    assert (signed.code, signed.document["problem"], signed.document["missing"]) == (0, None, 0)
    assert gert("resume", "latest", "--json").document["status"] == "completed"
    assert (gert.root / "acted").exists()


def test_a_ticket_whose_answer_was_set_aside_can_be_rejected(waiting):
    gert, ticket = waiting
    set_aside(gert, ticket)
    assert gert("reject", ticket, "--as", "bob").code == 0
    assert gert("resume", "latest", "--json").document["status"] == "failed"


def test_one_that_is_set_aside_again_and_again_is_told_each_time(waiting):
    gert, ticket = waiting
    for _ in range(3):
        set_aside(gert, ticket)
    results = [event["data"]["problem"] for event in gert.events() if event["type"] == "approval_response"]
    assert results == ["key_not_personal"] * 3


def test_the_next_command_after_an_approval_that_does_not_count_is_to_approve(tmp_path):
    """Where the project declares people, it is known at once."""
    gert = Gert(tmp_path)
    gert.write(tool_act=TOOL, book=BOOK, keys=policy())
    (tmp_path / "gert-project.yaml").write_text("policies: [keys.yaml]\n")
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    ticket = said.document["pending"][0]["ticket_id"]
    said = gert("approve", ticket, "--as", "alice")
    assert "does not count" in said.out
    assert f"next: gert approve {ticket}" in said.out
    again = gert("approve", ticket, "--as", "alice", "--json").document
    assert again["next"][0]["command"] == ["gert", "approve", ticket]


def test_a_program_that_resumes_what_was_answered_resumes_it_no_more(waiting):
    gert, ticket = waiting
    with Host(gert.root) as host:
        assert gert("approve", ticket, "--as", "alice").code == 0
        assert [view.ticket_id for view in host.tickets(status="answered")] == [ticket]
        assert gert("resume", "latest", "--json").document["status"] == "approval_pending"
        assert list(host.tickets(status="answered")) == []
        assert [view.ticket_id for view in host.tickets(status="pending")] == [ticket]
