"""What nobody expected: one sentence instead of a traceback, and terminals that are odd or gone."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from screens import OnScreen
from shell import wait_for
from tuis import on_tui

BROKEN = """\
import os
import signal
import sys
from gert_tui.screens.runs import RunsScreen
def broken(self):
    password = "hunter2-hunter2"
    raise ValueError("it broke")
RunsScreen.action_sort = broken
sys.argv[1:] = ["tui"]
import runpy
runpy.run_module("gert_core", run_name="__main__")
"""


def shows(text):
    return lambda now: any(text in line for line in now.lines)


def test_an_unexpected_error_is_one_sentence(lab):
    with OnScreen([sys.executable, "-c", BROKEN], cwd=lab.root, environ=lab.environ, columns=100) as seen:
        seen.until(shows("No runs yet"))
        seen.type("S")
        seen.end()
    assert seen.code == 3
    said = seen.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "failed in command 'tui': ValueError: it broke at " in said
    assert "Traceback" not in said
    assert b"hunter2" not in seen.raw


def test_an_unexpected_error_of_a_thread_is_shown_and_the_screen_stays(lab, monkeypatch):
    lab.book('- { id: says, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    host = lab.host()

    def broken(**_):
        raise ValueError("it broke")

    async def script(seen):
        await seen.until("No runs yet")
        with monkeypatch.context() as fault:
            fault.setattr(host, "rows", broken)
            await seen.press("l")
            await seen.until("internal error: ValueError: it broke")
        lab.gert("exec", "book.yaml")
        await seen.until("Runs: 1")

    on_tui(lab, script=script, host=host)


@pytest.mark.parametrize("wide", ["80", "0"])
def test_the_size_is_that_of_the_terminal_whatever_the_environment_says(lab, wide):
    environ = {**lab.environ, "COLUMNS": wide, "LINES": "24"}
    with OnScreen(lab.command("tui"), cwd=lab.root, environ=environ, columns=110, rows=30) as seen:
        seen.until(shows("d dry-run"))
        assert seen.screen.display[1].rstrip().endswith("┓")
        assert len(seen.screen.display[1].rstrip()) == 110
        assert "d dry-run" in seen.screen.display[29]
        seen.type("q")
        seen.end()


def test_it_ends_with_its_terminal_also_when_no_signal_says_so(lab):
    lab.book("- { id: hold, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
    with OnScreen(lab.command("tui", "book.yaml"), cwd=lab.root, environ=lab.environ) as seen:
        seen.until(shows("→ hold"))
        os.close(seen._ours)  # it is not the controlling terminal, so there is no SIGHUP
        try:
            assert seen.process.wait(10) == 128 + signal.SIGHUP
        finally:
            seen._ours = os.open(os.devnull, os.O_RDONLY)
    wait_for(lambda: lab.json("runs", "show", "latest", code=None)["status"] == "cancelled")
