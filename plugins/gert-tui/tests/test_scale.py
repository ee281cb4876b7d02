"""Many steps, much output, and an app that is killed."""

from __future__ import annotations

import os
import re
import signal
import sys
import time

from many_runs import write_runs
from screens import OnScreen
from shell import wait_for
from tuis import on_tui

MANY = 5_000
ALONE = os.environ.get("GERT_FUZZ") == "1"
"""Whether nothing else keeps the machine busy: only then the clock says something about gert."""
LISTED = 10_000 if ALONE else 2_500
LATE, BUSY = (0.5, 2.0) if ALONE else (10.0, 20.0)


def test_five_thousand_steps_are_shown_and_moved_through(lab):
    lab.book(
        '- id: each\n  type: assert\n  assert: [{ type: ge, value: "{{ .n }}", expected: 0 }]\n'
        '  for_each: { as: n, over: "{{ .numbers }}", key: "{{ .n }}" }',
        meta="inputs: { numbers: { type: list } }",
    )
    lab.write("numbers.yaml", f"numbers: {list(range(MANY))}\n")

    async def script(seen):
        await seen.until("Outcome: resolved (ok)", f"{MANY + 1} done", seconds=60)
        steps = seen.app.screen.steps
        assert steps.count() == MANY + 2  # with the loop itself, and the end
        began = time.process_time()
        await seen.press("home", "end", "pageup", "home", "pagedown")
        await seen.until("each[")
        assert time.process_time() - began < BUSY
        await seen.press("slash")
        await seen.type(f"each[{MANY - 1}]")
        await seen.press("enter")
        await seen.until(f"✓ each[{MANY - 1}]")
        await seen.press("home", "space")
        await seen.until(lambda: steps.count() == 2)

    on_tui(lab, "book.yaml", "--input", "numbers.yaml", script=script)


def test_thousands_of_runs_are_listed_filtered_and_moved_through(lab):
    write_runs(lab.path("runs"), LISTED)

    async def script(seen):
        await seen.until(f"Runs: {LISTED}", seconds=60)
        view = seen.app.screen.query_one("#runs")
        began = time.process_time()
        await seen.press("end", "pageup", "home", "pagedown", "S", "S")
        await seen.until("by status")
        assert time.process_time() - began < BUSY
        await seen.press("S", "S", "slash")
        await seen.type(view.every[LISTED // 2].run_id)
        await seen.press("enter")
        await seen.until(f"Runs: 1 of {LISTED}", lambda: view.selected is view.every[LISTED // 2])

    on_tui(lab, script=script)


def test_a_list_that_is_costly_to_make_is_made_less_often(lab, monkeypatch):
    host = lab.host()
    real, calls = host.rows, []

    def costly(**options):
        calls.append(time.monotonic())
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        return real(**options)

    monkeypatch.setattr(host, "rows", costly)

    async def script(seen):
        await seen.until("No runs yet")
        await seen.pilot.pause(6)
        assert len(calls) == 1
        await seen.press("l")
        await seen.until(lambda: len(calls) == 2)

    on_tui(lab, script=script, host=host)


def test_a_thousand_lines_a_second_are_shown_without_falling_behind(lab):
    lab.program(
        "rain",
        f"""\
        #!{sys.executable}
        import sys, time
        began = time.time()
        for n in range(3000):
            sys.stdout.write(f"line {{n}} at {{time.time():.3f}}\\n")
            sys.stdout.flush()
            time.sleep(max(began + n / 1000 - time.time(), 0))
        """,
    )
    lab.tool("rain", '["rain"]')
    lab.book("- { id: rain, type: tool, tool: rain }", tools="rain")
    late = []

    async def script(seen):
        await seen.until("rain | line ")
        while "line 2999 " not in seen.text:
            last = re.findall(r"line \d+ at ([\d.]+)", seen.text)[-1]
            late.append(time.time() - float(last))
            await seen.pilot.pause(0.05)
        await seen.until("Outcome: resolved (ok)")
        assert sum(line.text.startswith("line ") for line in seen.app.screen.session.model.output.every) == 3000

    on_tui(lab, "book.yaml", script=script)
    assert len(late) > (5 if ALONE else 0)
    assert max(late) < LATE, late


def on_terminal(lab, *args, columns=100, rows=30, **environ):
    return OnScreen(
        lab.command("tui", *args), cwd=lab.root, environ={**lab.environ, **environ}, columns=columns, rows=rows
    )


def test_an_app_that_is_killed_leaves_a_run_that_can_be_resumed(lab):
    lab.book("- { id: hold, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
    with on_terminal(lab, "book.yaml") as seen:
        seen.until(lambda now: any("→ hold" in line for line in now.lines))
        os.kill(seen.process.pid, signal.SIGKILL)
        seen.process.wait(10)
    lab.path("go").touch()
    wait_for(lambda: lab.json("runs", "show", "latest", code=None)["status"] == "interrupted")
    assert "Outcome: resolved (ok)" in lab.gert("resume", "latest").stdout


def test_on_a_real_terminal_it_starts_draws_and_gives_the_terminal_back(lab):
    lab.book('- { id: says, type: tool, tool: say, inputs: { text: "hello\\n" } }', tools="say")
    with on_terminal(lab, "book.yaml", NO_COLOR="1") as seen:
        seen.until(lambda now: any("Outcome: resolved (ok)" in line for line in now.lines))
        assert any("says | hello" in line for line in seen.lines)
        seen.type("q")
        seen.end()
    assert seen.code == 0
    assert not re.search(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7])(?:;\d+)*m", seen.raw), (
        "a colour in spite of NO_COLOR"
    )
    assert seen.raw.count(b"\x1b[?1049h") == seen.raw.count(b"\x1b[?1049l") == 1


def test_the_program_gert_tui_is_the_command(lab):
    lab.book('- { id: says, type: tool, tool: say, inputs: { text: "hello\\n" } }', tools="say")
    program = os.path.join(os.path.dirname(sys.executable), "gert-tui")  # noqa: PTH118, PTH120 - not its target
    with OnScreen([program, "--no-mouse"], cwd=lab.root, environ=lab.environ) as seen:
        seen.until(lambda now: any("No runs yet" in line for line in now.lines))
        seen.type("q")
        seen.end()
    assert seen.code == 0
    assert b"\x1b[?1000h" not in seen.raw
