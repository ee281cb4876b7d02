"""A screen that is ended from outside, or breaks: runs are cancelled, programs end, and the terminal is as before."""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
import time

import pytest
from screens import OnScreen
from shell import alive, chain_is_whole, wait_for

TWICE = "trap '' HUP; echo $$ > pid; echo one >> acted; sleep 4; echo two >> acted"
OVER = b"\x1b[?1049l"
RUN = """\
import runpy
import sys
import time
{}
sys.argv[1:] = ["tui", *{!r}]
runpy.run_module("gert_core", run_name="__main__")
"""
HANGS = """\
from gert_tui.screens.run import RunScreen
RunScreen.action_follow = lambda self: time.sleep(600)
"""
STUBBORN = """\
from gert_tui.app import GertApp
GertApp.exit = lambda *_, **__: None
"""
WRITER = """\
from gert_tui.screens.runs import RunsScreen
def sort(self):
    self.app._driver.write(b"hunter2")
RunsScreen.action_sort = sort
"""
READER = """\
from textual.drivers.linux_driver import LinuxDriver
def broken(self, message):
    password = "hunter2-hunter2"
    raise ValueError("it broke")
LinuxDriver.process_message = broken
"""


def shows(text):
    return lambda now: any(text in line for line in now.lines)


def flags(seen):
    """How the terminal treats what is typed."""
    return termios.tcgetattr(seen._ours)[:4]


def screen(lab, *words, patch=""):
    command = [sys.executable, "-c", RUN.format(patch, words)] if patch else lab.command("tui", *words)
    return OnScreen(command, cwd=lab.root, environ=lab.environ, columns=100, rows=24)


def last_event(lab):
    (trace,) = lab.root.glob("runs/*/trace.jsonl")
    assert chain_is_whole(trace)
    return json.loads(trace.read_text().splitlines()[-1])


def at_work(lab):
    """Have a runbook with a step that acts a second time when it is not ended."""
    lab.program("twice", TWICE)
    lab.tool("twice", '["twice"]')
    lab.book("- { id: works, type: tool, tool: twice }", tools="twice")


def acted(lab):
    file = lab.path("acted")
    return file.read_text().split() if file.exists() else []


@pytest.mark.parametrize(
    ("number", "patch"),
    [
        pytest.param(signal.SIGTERM, "", id="term"),
        pytest.param(signal.SIGHUP, "", id="hup"),
        pytest.param(signal.SIGINT, "", id="int"),
        pytest.param(signal.SIGTERM, HANGS, id="screen-that-hangs"),
        pytest.param(signal.SIGTERM, STUBBORN, id="screen-that-stays"),
    ],
)
def test_a_signal_cancels_what_runs_here_and_gives_the_terminal_back(lab, number, patch):
    at_work(lab)
    with screen(lab, "book.yaml", patch=patch) as seen:
        before = flags(seen)
        seen.until(shows("works"))
        wait_for(lambda: acted(lab) == ["one"])
        assert flags(seen) != before
        if patch == HANGS:
            seen.type("f")
            time.sleep(0.5)
        sent = time.monotonic()
        seen.process.send_signal(number)
        seen.end()
        assert time.monotonic() - sent < 14
        assert seen.code == 128 + number
        assert flags(seen) == before
        assert seen.raw.rstrip().count(OVER) == 1
        assert b"\x1b[?25h" in seen.raw.rpartition(OVER)[2], "the cursor is shown again"
    assert not alive(int(lab.path("pid").read_text()))
    end = last_event(lab)
    assert (end["type"], end["data"]["status"]) == ("run_complete", "cancelled")
    time.sleep(max(0.0, sent + 5 - time.monotonic()))
    assert acted(lab) == ["one"]
    assert b"Traceback" not in seen.raw


def test_a_run_that_waits_for_people_is_left_to_the_inbox(lab):
    lab.book("- { id: look, type: manual, instructions: Look. }")
    with screen(lab, "book.yaml") as seen:
        seen.until(shows("look"))
        wait_for(lambda: list(lab.root.glob("runs/*/trace.jsonl")))
        time.sleep(1)
        seen.process.send_signal(signal.SIGTERM)
        seen.end()
    assert seen.code == 143
    assert lab.json("runs", "show", "latest", code=None)["status"] == "answer_pending"


def test_a_signal_before_anything_is_shown(lab):
    at_work(lab)
    with screen(lab, "book.yaml") as seen:
        seen.until(lambda now: b"\x1b[?1049h" in now.raw)
        seen.process.send_signal(signal.SIGTERM)
        seen.end()
    assert seen.code == 143
    assert "two" not in acted(lab)


@pytest.mark.parametrize("typed", [b"\xe4x", b"\xff", b"\x1b[200~\xe4 caf\xe9\x1b[201~", b"\xc3"])
def test_bytes_that_are_not_utf_8_end_nothing(lab, typed):
    lab.book("- { id: hold, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
    with screen(lab, "book.yaml") as seen:
        seen.until(shows("hold"))
        wait_for(lambda: lab.path("go.pid").exists())
        os.write(seen._ours, typed)
        time.sleep(1)
        lab.path("go").touch()
        seen.until(shows("Outcome: resolved (ok)"))
        for text in ("\x1b", "q"):
            seen.type(text)
            time.sleep(0.5)
        seen.end()
    assert seen.code == 0
    assert b"Traceback" not in seen.raw


def test_what_is_pasted_with_such_bytes_stays_text(lab):
    """Not one letter of it is taken for a key: s would start a run."""
    with screen(lab) as seen:
        seen.until(shows("No runs yet"))
        seen.type("/")
        time.sleep(0.3)
        os.write(seen._ours, b"\x1b[200~M\xe4rz s\xff\x1b[201~")
        seen.until(shows("M\ufffdrz s\ufffd"))
        seen.type("\x1b")
        time.sleep(0.3)
        seen.type("q")
        seen.end()
    assert seen.code == 0


@pytest.mark.parametrize("patch", [READER, WRITER], ids=["reader", "writer"])
def test_whatever_breaks_below_the_screen_is_one_sentence(lab, patch):
    with screen(lab, patch=patch) as seen:
        if patch == WRITER:
            seen.until(shows("No runs yet"))
        seen.type("S")
        seen.end()
        assert flags(seen)[3] & termios.ICANON
    assert seen.code == 3
    assert b"Traceback" not in seen.raw
    assert b"hunter2" not in seen.raw
    assert b"failed in command 'tui'" in seen.raw
