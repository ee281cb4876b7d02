"""The list of runs and the screen of a run, over real runs."""

from __future__ import annotations

from tuis import on_tui

TWO = """
- { id: first, type: tool, tool: say, inputs: { text: "hello from first\\n" } }
- { id: second, type: tool, tool: hold, inputs: { until: go } }
"""


def test_a_run_is_started_and_shown_with_its_steps_output_and_status(lab):
    lab.book(TWO, tools="say, hold")

    async def script(seen):
        await seen.until("✓ first", "→ second", "○ done", "first | hello from first", "executing second", "Risk: low")
        assert "1 done, 1 running, 0 failed" in seen.text
        lab.path("go").touch()
        await seen.until("✓ second", "second | went go", "✓ done", "Outcome: resolved (ok)", "Status: resolved (ok)")
        assert "3 done, 0 running, 0 failed" in seen.text
        await seen.press("q")

    on_tui(lab, "book.yaml", script=script)


def test_without_a_file_the_list_is_shown_and_a_run_is_opened_from_it(lab):
    lab.book('- { id: first, type: tool, tool: say, inputs: { text: "hello\\n" } }', tools="say")
    lab.gert("exec", "book.yaml")

    async def script(seen):
        await seen.until("Runs: 1", "✓", "book", "resolved (ok)", "olga")
        await seen.press("enter")
        await seen.until("✓ first", "first | hello", "(followed)", "Outcome: resolved (ok)")
        await seen.press("l")
        await seen.until("Runs: 1")

    on_tui(lab, script=script)


def test_help_lists_the_keys_of_the_screen(lab):
    async def script(seen):
        await seen.until("No runs yet: press s to start one")
        await seen.press("question_mark")
        await seen.until("Help: runs", "start a run, with a form for its inputs", "toggle dry-run")
        assert "cancel the run" not in seen.text
        await seen.press("escape")
        await seen.until("No runs yet")

    on_tui(lab, script=script)


def test_without_a_terminal_it_says_so_and_exits_with_2(lab):
    said = lab.gert("tui", code=2)
    assert said.stdout == ""
    assert said.stderr.startswith("error: gert tui needs a terminal to draw on and to read keys from\n")


def test_a_command_line_that_makes_no_sense_is_refused(lab):
    lab.book(TWO, tools="say, hold")
    for words, told in (
        (("nowhere.yaml",), "nowhere.yaml does not exist"),
        (("book.yaml", "--run", "latest"), "FILE starts a run and --run opens one: give one of them"),
        (("--mode", "odd"), "--mode is real, dry-run, probe or replay, not odd"),
        (("--odd",), "there is no option --odd"),
    ):
        assert told in lab.gert("tui", *words, code=2).stderr
    assert lab.gert("tui", "--help").stderr.startswith("Usage: gert tui [FILE] [OPTIONS]")
