"""Every other key, over real runs."""

from __future__ import annotations

import json

from hosting import APPROVE
from shell import wait_for
from tuis import on_tui

HOLD = "- { id: hold, type: tool, tool: hold, inputs: { until: go } }"
INPUTS = """
inputs:
  host: { type: string, required: true, description: "Where" }
  count: { type: int, default: 3 }
  level: { type: string, enum: [low, high], default: low }
  loud: { type: bool, default: false }
  token: { type: string, secret: true, default: "hunter2-hunter2" }
"""
SAYS = '- { id: says, type: tool, tool: say, inputs: { text: "{{ .host }} {{ .count }} {{ .level }} {{ .loud }} {{ .token }}\\n" } }'


def status(lab):
    return lab.json("runs", "show", "latest", code=None)["status"]


def test_s_starts_a_run_with_a_form_of_types_choices_and_defaults(lab):
    lab.book(SAYS, tools="say", meta=INPUTS)

    async def script(seen):
        await seen.until("No runs yet")
        await seen.press("s")
        await seen.until("book.yaml")
        await seen.press("enter")
        await seen.until(
            "host (string, required): Where", "count (int)", "(*) low", "( ) high", "[ ] loud", "[ Start ]"
        )
        assert "hunter2" not in seen.text
        await seen.press("ctrl+s")
        await seen.until(
            "book.yaml was not started", "the required input 'host' (string) has no value (Where)", "hint: fill it in"
        )
        assert "--" not in seen.text.replace("---", "")
        await seen.press("escape")
        await seen.until("[ Start ]")
        await seen.type("web-1")
        await seen.press("enter", "backspace")
        await seen.type("many")
        await seen.press("ctrl+s")
        await seen.until("book.yaml was not started", "the input 'count' must be int")
        await seen.press("escape")
        await seen.until("[ Start ]")
        await seen.press(*["backspace"] * 4)
        await seen.type("7")
        await seen.press("enter", "down", "space", "tab", "space", "ctrl+s")
        await seen.until("says | web-1 7 high true <REDACTED:token>", "Outcome: resolved (ok)")

    on_tui(lab, script=script)
    assert b"hunter2" not in next(lab.root.glob("runs/*/trace.jsonl")).read_bytes()


def test_a_file_without_what_it_needs_opens_the_form_with_what_was_given(lab):
    lab.book(SAYS, tools="say", meta=INPUTS)

    async def script(seen):
        await seen.until("host (string, required): Where", "9")
        await seen.type("web-2")
        await seen.press("ctrl+s")
        await seen.until("says | web-2 9 low false")

    on_tui(lab, "book.yaml", "--var", "count=9", script=script)


def test_d_makes_a_dry_run_of_the_run_and_toggles_the_mode_on_the_list(lab):
    lab.book(SAYS, tools="say", meta=INPUTS)

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        await seen.press("d")
        await seen.until("[dry-run]", "Possible outcome" if "Possible" in seen.text else "dry-run")
        await seen.press("l", "l")
        await seen.until("Runs: 1")
        await seen.press("d")
        await seen.until("[dry-run]")
        await seen.press("d")
        await seen.until(lambda: "[dry-run]" not in seen.rows[0])

    on_tui(lab, "book.yaml", "--var", "host=web-1", script=script)
    assert len(lab.json("runs", "list")["runs"]) == 1  # a dry-run is not kept


def test_v_c_and_t_show_variables_the_contract_and_the_trace(lab):
    lab.policy(APPROVE)
    lab.book(SAYS, tools="say", meta=INPUTS)

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        await seen.press("v")
        await seen.until("host (string, given) = web-1", "count (int, from default) = 3", "token (string", "<secret>")
        assert "hunter2" not in seen.text
        await seen.press("escape", "home", "c")
        await seen.until("Contract of says", "effects: network", "Risk: low", "Decision: allow", "it simply runs again")
        await seen.until("policy.yaml has no rule for it")
        assert "None" not in seen.text
        await seen.press("escape", "t")
        await seen.until("Trace of ", "run_complete", "step_complete")
        await seen.press("home", "enter")
        await seen.until("Event 1: run_start", '"runbook": "book"')
        await seen.press("q", "q")
        await seen.until("Steps")

    on_tui(lab, "book.yaml", "--var", "host=web-1", script=script)


def test_search_finds_the_next_place_and_the_one_before(lab):
    lab.program("rows", "for n in 1 2 3; do echo apple $n; echo pear $n; done")
    lab.tool("rows", '["rows"]')
    lab.book("- { id: rows, type: tool, tool: rows }", tools="rows")

    async def script(seen):
        await seen.until("Outcome: resolved (ok)")
        await seen.press("n")
        await seen.until("search with / first")
        await seen.press("tab", "home", "slash")
        await seen.type("pear")
        await seen.press("enter")
        output = seen.app.screen.output
        assert output.text_of(output.cursor) == "rows | pear 1"
        await seen.press("n")
        assert output.text_of(output.cursor) == "rows | pear 2"
        await seen.press("n", "n")
        assert output.text_of(output.cursor) == "rows | pear 1"
        await seen.press("N")
        assert output.text_of(output.cursor) == "rows | pear 3"
        await seen.press("slash")
        await seen.type("plum")
        await seen.press("enter")
        await seen.until("nothing here has 'plum'")

    on_tui(lab, "book.yaml", script=script)


def test_o_shows_the_output_of_one_step_and_f_follows_again(lab):
    lab.book(
        '- { id: first, type: tool, tool: say, inputs: { text: "one\\n" } }\n- { id: second, type: tool, tool: say, inputs: { text: "two\\n" } }',
        tools="say",
    )

    async def script(seen):
        await seen.until("Outcome: resolved (ok)", "first | one", "second | two")
        await seen.press("home", "o")
        await seen.until("Output of first", "$ say 'one", lambda: "second" not in "".join(r[50:] for r in seen.rows))
        await seen.press("down")
        await seen.until("$ say 'two")
        await seen.press("o")
        await seen.until("first | one", "second | two")
        assert not seen.app.screen.steps.follows
        await seen.press("f")
        await seen.until("following the run")
        assert seen.app.screen.steps.follows

    on_tui(lab, "book.yaml", script=script)


def test_ctrl_x_cancels_the_run_and_r_resumes_it(lab):
    lab.book(HOLD, tools="hold")

    async def script(seen):
        await seen.until("→ hold")
        await seen.press("ctrl+x")
        await seen.until("Cancel ", "Cancel the run")
        await seen.press("escape", "ctrl+x", "down", "enter")
        await seen.until("✗ Run cancelled [real]", "next: gert resume --run")
        lab.path("go").touch()
        await seen.press("r")
        await seen.until("What is next?", "resume the run where it stopped", "end the run for good")
        await seen.press("enter")
        await seen.until("✓ hold", "Outcome: resolved (ok)", "Status: resolved (ok)")

    on_tui(lab, "book.yaml", script=script)
    assert status(lab) == "completed"


def test_r_retries_a_failed_run_from_the_list(lab):
    lab.program("flaky", "test -e fine && echo fine now || { echo no route >&2; exit 3; }")
    lab.tool("flaky", '["flaky"]')
    lab.book("- { id: flaky, type: tool, tool: flaky }", tools="flaky")
    lab.gert("exec", "book.yaml", code=1)
    lab.path("fine").touch()

    async def script(seen):
        await seen.until("Runs: 1", "✗")
        await seen.press("r")
        await seen.until("What is next?", "run flaky again")
        await seen.press("enter")
        await seen.until("✓ flaky", "fine now", "Outcome: resolved (ok)")

    on_tui(lab, script=script)
    assert status(lab) == "completed"


def test_a_failure_reads_like_the_terminals(lab):
    lab.program("flaky", "echo no route >&2; exit 3")
    lab.tool("flaky", '["flaky"]')
    lab.book("- { id: flaky, type: tool, tool: flaky }", tools="flaky")
    said = lab.gert("exec", "book.yaml", code=1).stdout
    wanted = [line for line in said.splitlines() if line.startswith(("✗", "  step ", "    "))]
    assert len(wanted) == 5

    async def script(seen):
        await seen.until("✗ flaky", "next: gert resume --run")
        lines = [line.text for line in seen.app.screen.session.model.output.every]
        assert [line for line in wanted if line not in lines] == []

    on_tui(lab, "book.yaml", script=script, size=(300, 40))


def test_a_run_of_another_process_is_followed_and_cancelled(lab):
    lab.book(HOLD, tools="hold")
    other = lab.start("exec", "book.yaml")
    wait_for(lambda: lab.path("go.pid").exists())

    async def script(seen):
        await seen.until("(followed)", "→ hold", "executing hold")
        await seen.press("ctrl+x", "down", "enter")
        await seen.until("✗ Run cancelled [real]")
        await seen.press("l")
        await seen.until("Runs: 1", "cancelled")

    on_tui(lab, "--run", "latest", script=script)
    other.communicate(timeout=30)


def test_a_followed_run_that_another_process_resumes_goes_on_on_the_screen(lab):
    lab.book(
        '- { id: look, type: manual, instructions: "Look." }\n- { id: says, type: tool, tool: say, inputs: { text: "after\\n" } }',
        tools="say",
    )
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)
    assert status(lab) == "answer_pending"

    async def script(seen):
        await seen.until("(followed)", "⚠ look")
        await seen.press("enter")
        await seen.until("this run is suspended: r goes on here and asks")
        lab.gert("answer", "latest", "look", "confirm=yes", code=None)
        lab.gert("resume", "latest", code=None)
        await seen.until("✓ look", "says | after", "Outcome: resolved (ok)")

    on_tui(lab, "--run", "latest", script=script)


def test_r_resumes_a_run_that_waits_for_an_answer_and_asks_here(lab):
    lab.book('- { id: look, type: manual, instructions: "Look at it." }')
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)

    async def script(seen):
        await seen.until("(followed)", "⚠ look")
        await seen.press("r")
        await seen.until("What is next?", "answer what step look asks")
        await seen.press("enter")
        await seen.until("look asks: press Enter")
        await seen.press("enter")
        await seen.until("Look at it.", "[ Confirm ]")
        await seen.press("enter")
        await seen.until("✓ look", "Outcome: resolved (ok)")

    on_tui(lab, "--run", "latest", script=script)


def test_q_asks_what_becomes_of_a_live_run(lab):
    lab.book('- { id: look, type: manual, instructions: "Look at it." }')

    async def script(seen):
        await seen.until("look asks: press Enter")
        await seen.press("q")
        await seen.until("Quit?", "waits for people here", "Stay", "Leave it to the inbox and quit", "Cancel and quit")
        await seen.press("escape")
        await seen.until("look asks")
        await seen.press("q", "down", "enter")
        wait = seen.app
        await seen.until(lambda: wait._exit)

    on_tui(lab, "book.yaml", script=script)
    assert status(lab) == "answer_pending"


def test_q_cancels_a_run_that_works(lab):
    lab.book(HOLD, tools="hold")

    async def script(seen):
        await seen.until("→ hold")
        await seen.press("q")
        await seen.until("Quit?", "is being executed here", lambda: "inbox" not in seen.text)
        await seen.press("down", "enter")
        await seen.until(lambda: seen.app._exit)

    on_tui(lab, "book.yaml", script=script)
    assert status(lab) == "cancelled"


def test_the_list_is_filtered_sorted_and_kept_up_to_date(lab):
    lab.book('- { id: says, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    lab.gert("exec", "book.yaml")
    lab.gert("exec", "book.yaml", "--as", "pia")

    async def script(seen):
        await seen.until("Runs: 2", "by started", "pia", "olga")
        await seen.press("slash")
        await seen.type("pia")
        await seen.press("enter")
        await seen.until("Runs: 1 of 2", "filter 'pia'", lambda: "olga" not in seen.text)
        await seen.press("escape")
        await seen.until("Runs: 2")
        await seen.press("S")
        await seen.until("by runbook")
        await seen.press("y")
        await seen.until("copied 2")
        assert seen.app.clipboard == json.loads(lab.gert("runs", "list", "--json").stdout)["runs"][0]["run_id"]
        lab.gert("exec", "book.yaml")
        await seen.until("Runs: 3")

    on_tui(lab, script=script)
