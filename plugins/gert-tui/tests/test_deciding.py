"""That a key decides about what the person looks at: which request, which run, and what a form over it says."""

from __future__ import annotations

import pytest
from hosting import APPROVE, takes
from shell import wait_for
from tuis import on_tui

CHANGE = '- { id: restart, type: tool, tool: change, inputs: { what: "%s" } }'


@pytest.fixture(autouse=True)
def changing(lab):
    lab.policy(APPROVE)
    lab.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))


def waiting(lab, what):
    """A run of another host that waits for approval, and its ticket."""
    lab.write(
        f"{what}.yaml",
        lab.path("book.yaml").read_text(encoding="utf-8").replace("WHAT", what).replace("name: book", f"name: {what}"),
    )
    host = lab.host()
    run = host.start(f"{what}.yaml")
    return run, wait_for(lambda: next((one for one in host.tickets() if one.request.run_id == run.run_id), None))


def chosen(seen):
    found = seen.app.screen.query_one("#tickets").selected
    return None if found is None else found.ticket_id


def test_a_of_a_run_begins_with_its_own_request(lab):
    lab.book(CHANGE % "WHAT", tools="change")
    _, mine = waiting(lab, "mine")
    waiting(lab, "other")

    async def script(seen):
        await seen.until("needs approval")
        await seen.press("a")
        await seen.until("Approvals: 2", lambda: chosen(seen) == mine.ticket_id)
        await seen.press("escape", "enter")
        await seen.until("Approvals: 2", lambda: chosen(seen) == mine.ticket_id)

    on_tui(lab, "--run", mine.request.run_id, script=script)


def test_a_of_a_run_without_a_request_decides_about_none(lab):
    lab.book(CHANGE % "WHAT", tools="change")
    waiting(lab, "other")
    lab.book('- { id: says, type: tool, tool: say, inputs: { text: "x" } }', tools="say")

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        await seen.press("a")
        await seen.until("Approvals: 1", "Choose a request: Up and Down move.")
        await seen.press("y")
        await seen.until("choose a request first")
        assert "Approve step" not in seen.text
        await seen.press("down", "y")
        await seen.until("Approve step restart of other")

    on_tui(lab, "book.yaml", script=script)


def test_the_cursor_stays_on_its_request_when_others_come_and_on_none_when_it_goes(lab):
    lab.book(CHANGE % "WHAT", tools="change")
    _, first = waiting(lab, "first")

    async def script(seen):
        await seen.until("Runs: 1")
        await seen.press("a")
        await seen.until("Approvals: 1", lambda: chosen(seen) == first.ticket_id)
        _, second = waiting(lab, "second")
        await seen.until("Approvals: 2", lambda: chosen(seen) == first.ticket_id)
        lab.host().decide(first.ticket_id, approved=False, approver="carol", reason="no")
        await seen.until("Approvals: 1", lambda: chosen(seen) is None)
        await seen.press("y")
        await seen.until("choose a request first")
        await seen.press("up")
        assert chosen(seen) == second.ticket_id

    on_tui(lab, script=script)


def test_comments_of_others_are_shown_with_the_request_as_they_come(lab):
    lab.book(CHANGE % "WHAT", tools="change")
    _, ticket = waiting(lab, "first")
    lab.gert("approvals", "comment", ticket.ticket_id, "is [bold]this[/bold] planned?", "--as", "carol")

    async def script(seen):
        await seen.until("Runs: 1")
        await seen.press("a")
        await seen.until("Approvals: 1", "carol", "is [bold]this[/bold] planned?")
        lab.gert("approvals", "comment", ticket.ticket_id, "yes it is", "--as", "bob")
        await seen.until("bob", "yes it is", lambda: chosen(seen) == ticket.ticket_id)

    on_tui(lab, script=script)


def test_the_cursor_stays_on_its_run_when_a_newer_one_begins(lab):
    lab.book('- { id: says, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    lab.gert("exec", "book.yaml")

    async def script(seen):
        await seen.until("Runs: 1")
        view = seen.app.screen.query_one("#runs")
        before = view.selected.run_id
        lab.gert("exec", "book.yaml")
        await seen.until("Runs: 2")
        assert view.selected.run_id == before
        assert view.cursor == 1

    on_tui(lab, script=script)


@pytest.mark.parametrize("size", [(120, 32), (80, 24)])
def test_forms_say_which_request_they_decide(lab, size):
    lab.book(CHANGE % "WHAT", tools="change")
    what = "[bold]x[/bold]" + "y" * 300
    lab.write("book.yaml", lab.path("book.yaml").read_text().replace("WHAT", what))
    host = lab.host()
    run = host.start("book.yaml")
    (ticket,) = wait_for(lambda: list(host.tickets()))

    async def script(seen):
        await seen.until("Runs: 1")
        await seen.press("a")
        await seen.until("Approvals: 1", "critical")
        for key, word in (("x", "Reject"), ("y", "Approve")):
            await seen.press(key)
            await seen.until(f"{word} step restart of book", "[ Cancel ]")
            told = " ".join(row.strip("┃ ") for row in seen.rows)
            assert ticket.ticket_id in told
            assert run.run_id in told
            assert "requested by olga" in told
            assert "command: change" in told
            assert "inputs: what=[bold]x[/bold]yyy" in told
            assert "more characters)" in told
            if key == "x":
                await seen.press("escape")
        await seen.press(*["backspace"] * 4)
        await seen.type("alice")
        await seen.press("enter", "enter")
        await seen.type("restart")
        await seen.press("enter")
        await seen.until("Are you sure?", "Yes, approve restart")
        told = " ".join(row.strip("┃ ") for row in seen.rows)
        assert all(one in told for one in (ticket.ticket_id, run.run_id, "requested by olga", "command: change"))

    on_tui(lab, script=script, size=size)


def test_the_row_at_the_cursor_is_seen_on_a_smaller_terminal(lab):
    lab.book(CHANGE % "WHAT", tools="change")
    for number in range(6):
        waiting(lab, f"w{number}")

    async def script(seen):
        await seen.until("Runs: 6")
        await seen.press("a")
        await seen.until("Approvals: 6")
        await seen.press("end")
        name = seen.app.screen.query_one("#tickets").selected.request.runbook_name
        await seen.until(f"critical  restart of {name}  ")
        await seen.pilot.resize_terminal(60, 15)
        await seen.until(f"critical  restart of {name}  ")
        assert seen.app.screen.query_one("#tickets").cursor == 5

    on_tui(lab, script=script)


def test_a_tiny_terminal_shows_its_sentence_over_a_form_and_takes_no_key(lab):
    lab.book('- { id: look, type: manual, instructions: "Look at the rack." }')

    async def script(seen):
        await seen.until("look asks")
        await seen.press("enter")
        await seen.until("[ Confirm ]")
        await seen.pilot.resize_terminal(39, 9)
        await seen.until("too small", lambda: "Confirm" not in seen.text)
        await seen.press("enter", "space", "ctrl+s", "escape")
        await seen.pilot.resize_terminal(80, 24)
        await seen.until("[ Confirm ]")
        (session,) = seen.app.sessions.values()
        assert session.model.questions
        await seen.press("enter")
        await seen.until("✓ look")

    on_tui(lab, "book.yaml", script=script)


def test_a_tiny_terminal_takes_no_key_for_what_is_chosen_or_filled_in(lab):
    lab.book(CHANGE % "web", tools="change")

    async def script(seen):
        await seen.until("needs approval")
        await seen.press("ctrl+x")
        await seen.until("Cancel the run")
        await seen.pilot.resize_terminal(39, 9)
        await seen.until("too small")
        await seen.press("down", "enter")
        await seen.pilot.resize_terminal(80, 24)
        await seen.until("Cancel the run")
        await seen.press("escape", "a")
        await seen.until("Approvals: 1", lambda: chosen(seen))
        await seen.press("y")
        await seen.until("Approve step")
        await seen.pilot.resize_terminal(39, 9)
        await seen.until("too small", lambda: "Approve step" not in seen.text)
        await seen.press("enter", "enter", "enter")
        await seen.pilot.resize_terminal(80, 24)
        await seen.until("Approve step", "[ Cancel ]")
        (session,) = seen.app.sessions.values()
        assert session.live
        assert session.model.tickets

    on_tui(lab, "book.yaml", script=script)


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
def test_q_on_a_run_that_waits_shows_everything_there_is_to_choose(lab, size):
    lab.book('- { id: look, type: manual, instructions: "Look at the rack." }')

    async def script(seen):
        await seen.until("look asks")
        await seen.press("q")
        await seen.until("Stay", "Leave it to the inbox", "answered", "Cancel and quit")
        await seen.press("down", "down", "enter")
        await seen.until(lambda: seen.app._exit)

    on_tui(lab, "book.yaml", script=script, size=size)
    assert lab.json("runs", "show", "latest", code=None)["status"] == "cancelled"
