"""That the screen says what is so: the mode, what runs, what waits, whose output it is, and what forms send."""

from __future__ import annotations

import json
import time

import pytest
from gert_tui.look import ASCII
from hosting import APPROVE, Told, takes
from shell import wait_for
from tuis import on_tui

SAYS = '- { id: says, type: tool, tool: say, inputs: { text: "x\\n" } }'
HOLD = "- { id: hold, type: tool, tool: hold, inputs: { until: go } }"


def inputs_of(lab):
    return {one["data"]["input"]: one["data"] for one in events(lab) if one["type"] == "input_resolved"}


def events(lab):
    (trace,) = lab.root.glob("runs/*/trace.jsonl")
    return [json.loads(line) for line in trace.read_text().splitlines()]


def test_a_cleared_default_is_not_put_back_and_a_box_nobody_ticked_is_not_sent(lab):
    meta = "inputs: { note: { type: string, default: abc }, loud: { type: bool }, quiet: { type: bool } }"
    lab.book(SAYS, tools="say", meta=meta)

    async def script(seen):
        await seen.press("s")
        await seen.until("book.yaml")
        await seen.press("enter")
        await seen.until("[ Start ]", "abc", lambda: seen.app.focused is not None and seen.app.focused.id == "input-0")
        await seen.press(*["backspace"] * 3, "tab", "tab", "space", "space", "ctrl+s")
        await seen.until("Outcome: resolved (ok)")

    on_tui(lab, script=script)
    found = inputs_of(lab)
    assert found["note"]["value"] == ""
    assert "value" not in found.get("loud", {}) or found["loud"]["value"] is None
    assert found["quiet"]["value"] is False


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
def test_the_mode_is_never_hidden(lab, size):
    lab.book(
        f"{SAYS}\n- {{ id: {'long-name-' * 6}, type: manual, instructions: Look. }}",
        tools="say",
    )

    async def script(seen):
        await seen.until("No runs yet")
        await seen.press("d")
        await seen.until("No runs yet", lambda: "[dry-run]" in seen.rows[0])
        await seen.press("s")
        await seen.until("book.yaml")
        await seen.press("enter")
        await seen.until("[ Start ]")
        await seen.press("ctrl+s")
        await seen.until(lambda: any("Status:" in row and "[dry-run]" in row for row in seen.rows))

    on_tui(lab, script=script, size=size)


def test_a_step_that_a_resumed_run_does_again_is_shown_as_running(lab):
    lab.book(HOLD, tools="hold")

    async def script(seen):
        await seen.until("executing hold", "1 running")
        await seen.press("ctrl+x")
        await seen.until("Cancel the run")
        await seen.press("down", "enter")
        await seen.until("Run cancelled", "0 running")
        await seen.press("ctrl+x")
        await seen.until("nothing to cancel")
        assert "○ hold" in seen.text
        await seen.press("r")
        await seen.until("What is next?")
        await seen.press("enter")
        await seen.until("executing hold", "1 running", "0 done", "↺ hold")
        lab.path("go").touch()
        await seen.until("Outcome: resolved (ok)", "2 done")

    on_tui(lab, "book.yaml", script=script)


def test_d_asks_for_the_secret_that_a_dry_run_needs(lab):
    lab.book(SAYS, tools="say", meta="inputs: { token: { type: string, secret: true, required: true } }")

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        await seen.press("d")
        await seen.until("token (string, required, secret)", "[dry-run]", "[ Start ]")
        await seen.type("hunter3-hunter3")
        await seen.press("ctrl+s")
        await seen.until("[dry-run] │ Status:")

    on_tui(lab, "book.yaml", "--var", "token=hunter2-hunter2", script=script)


def test_s_does_not_offer_what_runs_keep(lab):
    lab.book(SAYS, tools="say")
    lab.gert("exec", "book.yaml")
    (run,) = lab.root.glob("runs/*/trace.jsonl")
    (run.parent / "attachments").mkdir()
    (run.parent / "attachments" / "kept.yaml").write_text(lab.path("book.yaml").read_text())

    async def script(seen):
        await seen.press("s")
        await seen.until("book.yaml")
        assert "kept.yaml" not in seen.text

    on_tui(lab, script=script)


def test_l_is_the_list_of_runs_from_everywhere(lab):
    lab.book(SAYS, tools="say")

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        for keys in (("c",), ("t", "home", "enter"), ("a", "question_mark"), ("s",)):
            await seen.press(*keys, "l")
            await seen.until("Runs: 1", lambda: type(seen.app.screen).__name__ == "RunsScreen")
            await seen.press("enter")
            await seen.until("Steps", "Outcome")

    on_tui(lab, "book.yaml", script=script)


def test_a_run_that_is_opened_again_says_its_end_once_and_whose_output_it_shows(lab):
    lab.book(f"{SAYS}\n{SAYS.replace('says', 'more')}", tools="say")

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        assert "Enter answer" not in seen.text
        await seen.press("l")
        await seen.until("Runs: 1")
        await seen.press("enter")
        await seen.until("Outcome: resolved (ok)")
        await seen.pilot.pause(0.2)
        assert seen.text.count("Outcome: resolved (ok)") == 1
        await seen.press("home", "o")
        await seen.until("Output of says")
        await seen.press("down")
        await seen.until("Output of more")

    on_tui(lab, "book.yaml", script=script)


def test_ascii_says_how_a_run_ended_in_ascii_and_80_columns_have_help_and_quit(lab):
    lab.program("bad", "exit 3")
    lab.tool("bad", '["bad"]')
    lab.book("- { id: bad, type: tool, tool: bad }", tools="bad")

    async def script(seen):
        await seen.until("x Run failed", "? help", "q quit")
        assert "\\u" not in seen.text

    on_tui(lab, "book.yaml", script=script, look=ASCII, size=(80, 24))


def test_a_run_that_waits_shows_so_in_the_list(lab):
    lab.policy(APPROVE)
    lab.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))
    lab.book('- { id: restart, type: tool, tool: change, inputs: { what: "web" } }', tools="change")
    lab.host().start("book.yaml")

    async def script(seen):
        await seen.until("⚠ ", "waiting")
        await seen.press("question_mark")
        await seen.until("Help: runs")
        assert "next place" not in seen.text
        assert "the other panel" not in seen.text

    on_tui(lab, script=script)


def test_the_cursor_stays_on_its_step_when_rows_come_above_it(lab):
    lab.book(
        HOLD
        + '\n- { id: each, type: tool, tool: say, inputs: { text: "{{ .n }}\\n" }, for_each: { as: n, over: [x, y], key: "{{ .n }}" } }\n'
        + SAYS,
        tools="say, hold",
    )

    async def script(seen):
        await seen.until("→ hold", "○ each", "○ says")
        await seen.press("down", "down", "o")
        await seen.until("Output of says")
        lab.path("go").touch()
        await seen.until("✓ says", "✓ each[y]", "Output of says", "$ say 'x")
        assert seen.app.screen.steps.selected.name == "says"

    on_tui(lab, "book.yaml", script=script)


def test_a_question_of_another_process_is_shown_in_the_list_and_in_its_run(lab):
    lab.book(
        "- { id: look, type: manual, instructions: Ask Bob., required_evidence: "
        "[{ kind: text, name: first }, { kind: text, name: second }] }"
    )
    told = Told()
    run = lab.host().start("book.yaml", questions="ask", on_notice=told)
    told.wait("question")

    async def script(seen):
        await seen.until("⚠ ", "waiting")
        await seen.press("enter")
        await seen.until("(followed)", "⚠ look", "look   Ask Bob.", "Status: look waits for an answer")
        await seen.press("enter")
        await seen.until("another process asks this")
        run.answer(told.of("question")[0].data["question_id"], "one")
        told.wait("question", 2)
        model = seen.app.screen.session.model
        await seen.until("Status: look waits for an answer", lambda: model.asked == {"look": ["second"]})
        run.answer(told.of("question")[1].data["question_id"], "two")
        await seen.until("✓ look", "Outcome: resolved (ok)")

    on_tui(lab, script=script)


def test_the_output_of_every_attempt_of_another_process_is_shown(lab):
    lab.program("flaky", "test -e fine && echo fine now || { echo no route >&2; exit 3; }")
    lab.tool("flaky", '["flaky"]')
    lab.book("- { id: flaky, type: tool, tool: flaky }", tools="flaky")
    lab.gert("exec", "book.yaml", code=1)
    lab.path("fine").touch()
    lab.gert("resume", "latest", "--retry-failed")

    async def script(seen):
        await seen.until("(followed)", "flaky ! no route", "flaky | fine now", "Outcome: resolved (ok)")

    on_tui(lab, "--run", "latest", script=script)


def test_the_duration_of_a_run_that_was_killed_ends_with_its_last_event(lab):
    lab.book(HOLD, tools="hold")
    with lab.start("exec", "book.yaml") as other:
        wait_for(lambda: lab.path("go.pid").exists())
        other.kill()
    time.sleep(2.5)

    async def script(seen):
        await seen.until("Run interrupted", "0 running")
        await seen.until(lambda: "Duration: 0s" in seen.text or "Duration: 1s" in seen.text)

    on_tui(lab, "--run", "latest", script=script)
