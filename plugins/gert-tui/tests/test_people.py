"""What people do on the screen: approvals, evidence, confirmations, from this process and from others."""

from __future__ import annotations

import json

import pytest
from hosting import APPROVE, takes
from tuis import on_tui

CHANGE = '- { id: restart, type: tool, tool: change, inputs: { what: "web" } }'
MANUAL = """
- id: look
  type: manual
  instructions: "Look at the [bold]rack[/bold]."
  required_evidence:
    - { kind: text, name: notes, description: "What you saw" }
    - { kind: choice, name: cause, options: [deploy, disk], description: "Where it comes from" }
    - { kind: checklist, name: checks, items: [doors, fans], description: "What you looked at" }
    - { kind: attachment, name: photo, description: "A photo" }
- { id: told, type: tool, tool: say, inputs: { text: "{{ .notes }} {{ .cause }}\\n" } }
"""


@pytest.fixture(autouse=True)
def changing(lab):
    lab.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service], idempotent: true"))
    lab.tool("drop", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))


def events(lab, kind):
    (trace,) = lab.root.glob("runs/*/trace.jsonl")
    found = [json.loads(line) for line in trace.read_text().splitlines()]
    return [event for event in found if event["type"] == kind]


def test_an_approval_is_given_on_the_screen_with_id_and_reason(lab):
    lab.policy(APPROVE)
    lab.book(CHANGE, tools="change")

    async def script(seen):
        await seen.until("⚠ restart", "restart needs approval: press a")
        await seen.press("a")
        await seen.until("Approvals: 1", "restart of book", "writes     service", "this step was not approved before")
        await seen.press("y")
        await seen.until("Approve step restart of book", "Your id", "olga", "writes service")
        await seen.press(*["backspace"] * 4)
        await seen.type("alice")
        await seen.press("enter")
        await seen.type("looks right")
        await seen.press("enter")
        await seen.until("Nothing waits for approval.")
        await seen.press("escape")
        await seen.until("✓ restart", "Outcome: resolved (ok)")

    on_tui(lab, "book.yaml", script=script)
    (answer,) = events(lab, "approval_response")
    assert (answer["data"]["approved"], answer["data"]["reason"]) == (True, "looks right")
    assert "alice" in json.dumps(answer)
    assert lab.path("changed").read_text() == "web\n"


def test_runs_of_a_database_are_started_approved_and_listed(lab):
    lab.policy(APPROVE)
    lab.book(CHANGE, tools="change")

    async def script(seen):
        await seen.until("restart needs approval: press a")
        await seen.press("a")
        await seen.until("Approvals: 1")
        await seen.press("y")
        await seen.until("Approve step restart of book")
        await seen.press(*["backspace"] * 4)
        await seen.type("alice")
        await seen.press("enter", "enter")
        await seen.until("Nothing waits for approval.")
        await seen.press("escape")
        await seen.until("✓ restart", "Outcome: resolved (ok)")
        await seen.press("l")
        await seen.until("Runs: 1", "resolved (ok)")
        lab.gert("exec", "book.yaml", "--store", "sqlite:kept.db", "--approval", "inbox", code=None)
        await seen.until("Runs: 2", "approval pending")
        await seen.press("home", "enter")
        await seen.until("(followed)", "⚠ restart")

    on_tui(lab, "book.yaml", script=script, host=lab.host(store="sqlite:kept.db"))


def test_x_rejects_for_a_reason_and_asks_who_it_is(lab):
    lab.policy(APPROVE)
    lab.book(CHANGE, tools="change")

    async def script(seen):
        await seen.until("needs approval")
        await seen.press("a")
        await seen.until("Approvals: 1")
        await seen.press("x")
        await seen.until("Reject step restart of book")
        await seen.press(*["backspace"] * 4)
        await seen.press("enter", "enter")
        await seen.until("say who you are")
        await seen.press("shift+tab")
        await seen.type("bob")
        await seen.press("enter")
        await seen.type("not now")
        await seen.press("enter")
        await seen.until("Nothing waits for approval.")
        await seen.press("escape")
        await seen.until("✗ restart", "✗ Run failed [real]", "rejected by bob: not now")

    on_tui(lab, "book.yaml", script=script)
    assert not lab.path("changed").exists()


def test_a_critical_step_asks_twice(lab):
    lab.policy(APPROVE)
    lab.book('- { id: drop, type: tool, tool: drop, inputs: { what: "all" } }', tools="drop")

    async def script(seen):
        await seen.until("needs approval")
        await seen.press("a")
        await seen.until("Approvals: 1", "critical")
        await seen.press("y")
        await seen.until("Approve step drop")
        await seen.press(*["backspace"] * 4)
        await seen.type("alice")
        await seen.press("enter", "enter")
        await seen.type("drop")
        await seen.press("enter")
        await seen.until("Are you sure?", "critical")
        await seen.press("enter")  # the first choice is No
        await seen.until("Approvals: 1")
        assert not lab.path("changed").exists()
        await seen.press("y")
        await seen.until("Approve step drop")
        await seen.press(*["backspace"] * 4)
        await seen.type("alice")
        await seen.press("enter", "enter")
        await seen.type("drop")
        await seen.press("enter")
        await seen.until("Are you sure?")
        await seen.press("down", "enter")
        await seen.until("Nothing waits for approval.")
        await seen.press("escape")
        await seen.until("✓ drop")

    on_tui(lab, "book.yaml", script=script)


@pytest.mark.parametrize(
    ("effects", "risk", "step", "word"),
    [
        ("writes: [service]", "critical", "drop", "drop"),
        ("writes: [service], deterministic: true", "high", "y", "approve-y"),
    ],
)
def test_what_is_of_high_risk_is_approved_by_typing_the_id_of_the_step(lab, effects, risk, step, word):
    lab.policy(APPROVE)
    lab.tool("drop", '["change", "{{ .what }}"]', contract=takes("what", effects))
    lab.book(f'- {{ id: "{step}", type: tool, tool: drop, inputs: {{ what: "all" }} }}', tools="drop")

    async def script(seen):
        await seen.until("needs approval")
        await seen.press("a")
        await seen.until("Approvals: 1", risk)
        await seen.press("y")
        await seen.until(f"Approve step {step} of book", f"Type {word} to approve")
        assert seen.app.screen.query_one("#field-word").value == ""
        await seen.press(*["backspace"] * 4)
        await seen.type("alice")
        await seen.press("enter", "enter", "enter")
        await seen.until(f"type {word}: this step is of {risk} risk")
        for wrong in ("y", "yes", word.upper()):
            await seen.type(wrong)
            await seen.press("enter")
            await seen.press(*["backspace"] * len(wrong))
            assert f"Approve step {step} of book" in seen.text
        assert not events(lab, "approval_response")
        await seen.type(word)
        await seen.press("enter")
        if risk == "critical":
            await seen.until("Are you sure?")
            await seen.press("down", "enter")
        await seen.until("Nothing waits for approval.")
        await seen.press("escape")
        await seen.until(f"✓ {step}")

    on_tui(lab, "book.yaml", script=script)
    (answer,) = events(lab, "approval_response")
    assert (answer["data"]["approved"], answer["data"]["approver_id"]) == (True, "alice")


def test_rejecting_what_is_of_high_risk_takes_no_id_of_the_step(lab):
    lab.policy(APPROVE)
    lab.book('- { id: drop, type: tool, tool: drop, inputs: { what: "all" } }', tools="drop")

    async def script(seen):
        await seen.until("needs approval")
        await seen.press("a")
        await seen.until("Approvals: 1", "critical")
        await seen.press("x")
        await seen.until("Reject step drop of book")
        assert not seen.app.screen.query("#field-word")
        await seen.press("enter", "enter")
        await seen.until("Nothing waits for approval.")

    on_tui(lab, "book.yaml", script=script)
    assert not lab.path("changed").exists()


def test_an_approval_of_another_process_lets_the_run_on_the_screen_go_on(lab):
    lab.policy(APPROVE)
    lab.book(CHANGE, tools="change")

    async def script(seen):
        await seen.until("needs approval")
        (ticket,) = lab.json("approvals", "list")["approvals"]
        lab.gert("approve", ticket["request"]["ticket_id"], "--as", "carol")
        await seen.until("✓ restart", "Outcome: resolved (ok)")

    on_tui(lab, "book.yaml", script=script)


def test_evidence_is_given_in_forms_one_after_another(lab):
    lab.book(MANUAL, tools="say")
    lab.path("photo.png").write_bytes(b"png")

    async def script(seen):
        await seen.until("⚠ look", "look asks: press Enter")
        await seen.press("enter")
        await seen.until("look: ", "Look at the [bold]rack[/bold].", "[ Send ]", "[ Reject ]")
        await seen.type("two fans are loud")
        await seen.press("enter")
        await seen.until("( ) deploy", "( ) disk")
        await seen.press("ctrl+s")
        await seen.until("choose one of them first")
        await seen.press("down", "space", "ctrl+s")
        await seen.until("[ ] doors", "[ ] fans")
        await seen.press("space")
        await seen.until("[x] doors", "[ ] fans")
        await seen.press("tab", "space", "ctrl+s")
        await seen.until("the path of a file")
        await seen.type("nowhere.png")
        await seen.press("enter")
        await seen.until("There is no such file")
        await seen.press(*["backspace"] * len("nowhere.png"))
        await seen.type("photo.png")
        await seen.press("enter")
        await seen.until("✓ look", "told | two fans are loud disk", "Outcome: resolved (ok)")

    on_tui(lab, "book.yaml", script=script)
    assert len(events(lab, "question_answered")) == 4


def test_a_manual_step_is_confirmed_with_enter_and_can_be_rejected(lab):
    lab.book(
        '- { id: look, type: manual, instructions: "Look at the rack." }\n- { id: again, type: manual, instructions: "And again." }'
    )

    async def script(seen):
        await seen.until("look asks: press Enter")
        await seen.press("enter")
        await seen.until("Look at the rack.", "[ Confirm ]")
        await seen.press("escape")
        await seen.until("look asks: press Enter")
        await seen.press("enter")
        await seen.until("[ Confirm ]")
        await seen.press("enter")
        await seen.until("✓ look", "again asks: press Enter")
        await seen.press("enter")
        await seen.until("And again.")
        await seen.press("ctrl+r")
        await seen.until("Reject step again")
        await seen.type("smoke")
        await seen.press("enter")
        await seen.until("✗ again", "✗ Run failed [real]", "smoke")

    on_tui(lab, "book.yaml", script=script)


def test_a_question_that_another_process_answers_closes_its_form(lab):
    lab.book('- { id: look, type: manual, instructions: "Look at the rack." }')
    host = lab.host()

    async def script(seen):
        await seen.until("look asks: press Enter")
        await seen.press("enter")
        await seen.until("[ Confirm ]")
        (session,) = seen.app.sessions.values()
        (name,) = session.model.questions
        session.hosted.answer(name, True, by="carol")
        await seen.until("✓ look", "Outcome: resolved (ok)")

    on_tui(lab, "book.yaml", script=script, host=host)
