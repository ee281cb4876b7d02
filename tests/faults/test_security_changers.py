"""Who decided what a run executes does not approve it: also who resumed it with changes, not only who started it."""

from __future__ import annotations

import pytest
from binding import BOOK, acted, bound_gert, of, pending, resume


@pytest.fixture
def gert(tmp_path):
    made = bound_gert(tmp_path)
    made.write(book=BOOK.replace("EXCLUDE", "true"))
    return made


def changed(gert, *more):
    """Let bob change the runbook of olga's waiting run and resume it; the ticket that it has then."""
    pending(gert)
    gert.write(book=BOOK.replace("EXCLUDE", "true").replace("{{ .what }}", "worse"))
    return resume(gert, "--on-drift", "allow", "--as", "bob", *more)["pending"][0]["ticket_id"]


def test_who_changes_a_run_does_not_approve_what_they_changed(gert):
    ticket = changed(gert)
    said = gert("approve", ticket, "--as", "bob")
    assert "This approval does not count: 'bob' resumed the run with changes of their own" in said.out, said.all
    assert "1 more approval needed" in said.out
    waiting = resume(gert, "--on-drift", "allow", "--as", "olga")
    assert (waiting["status"], acted(gert)) == ("approval_pending", [])
    (refused,) = of(gert, "approval_response")
    assert (refused["result"], refused["problem"]) == ("set_aside", "approval_own_actor")
    told = gert("approve", ticket, "--as", "ann", "--json").document
    assert (told["missing"], told["problem"]) == (0, None)
    assert resume(gert, "--on-drift", "allow", "--as", "olga")["status"] == "completed"
    assert acted(gert) == ["worse"]


def test_nor_does_the_operating_systems_user_who_changed_it(gert):
    """In a database the run of another account can be resumed, so that the owner of a directory tells nothing."""
    ticket = changed(gert)
    (resumed,) = [event["data"] for event in gert.events() if event["type"] == "run_resumed"]
    assert (resumed["actor"], bool(resumed["drift"])) == ("bob", True)
    gert("approve", ticket, "--as", resumed["os_user"])
    assert resume(gert, "--on-drift", "allow")["status"] == "approval_pending"
    assert acted(gert) == []


def test_who_states_the_result_of_a_step_does_not_approve_what_follows_from_it(gert):
    """An interrupted step is said to have given another target, which the approved step then gets."""
    tool = "apiVersion: tool/v0\nmeta: {name: find, transport: stdio, binary: sh}\n"
    tool += "contract: {effects: [network], writes: [list], outputs: {target: {type: string}}}\n"
    tool += "actions: {run: {argv: [sh, -c, 'kill -9 $PPID'], extract: {target: {from: stdout}}}}\n"
    book = BOOK.replace("EXCLUDE", "true").replace("tools: [act]", "tools: [act, find]")
    book = book.replace("steps:\n", "steps:\n  - {id: find, type: tool, tool: find}\n")
    gert.write(tool_find=tool, book=book.replace('{what: "{{ .what }}"}', '{what: "{{ .find.target }}"}'))
    gert.cold = True
    assert gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga").code == -9
    stated = ("--reconcile", "find=done", "--outputs", '{"target": "worse"}')
    said = gert("resume", "--run", gert.run().name, "--json", "--as", "bob", *stated)
    assert said.document["status"] == "approval_pending", said.all
    gert("approve", said.document["pending"][0]["ticket_id"], "--as", "bob")
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == []


def test_who_only_lets_a_run_go_on_may_approve_it(gert):
    """Approving and resuming is what ``gert approve`` says to do next."""
    ticket = pending(gert)
    assert resume(gert, "--as", "bob")["status"] == "approval_pending"
    said = gert("approve", ticket, "--as", "bob")
    assert "does not count" not in said.all
    assert resume(gert, "--as", "bob")["status"] == "completed"


def test_a_prompt_says_who_started_the_run_and_not_who_resumed_it(gert):
    pending(gert)
    said = gert("resume", "--run", gert.run().name, "--approval", "stdin", "--as", "bob", answers="n\n")
    assert "olga started the run and may not approve it" in said.all
    assert "bob started the run" not in said.all
