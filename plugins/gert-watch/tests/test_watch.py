"""``gert watch``: the lines it prints, when it stops, and with which exit code; real processes, real runs."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import gert_watch
import pytest
from gert_watch import notifying
from gert_watch.command import WatchOptions, read
from gert_watch.lines import line_of, seconds
from gert_watch.loop import Watch
from notified import looking_book, script_tool
from unread import full_pipe

from gert_core.api import UsageError
from gert_core.runs import outbox, owed
from gert_core.testing.conformance import CommandConformance
from gert_core.testing.receivers import HANG, Receiver

UNITS = ("hours", "minutes", "seconds")
LINE = r"\d\d:\d\d:\d\d  ✓ resolved \(service_healthy\)   \d+\.\ds"


class Project:
    """A directory with a runbook, in which ``gert watch`` is called."""

    def __init__(self, root):
        self.root = root
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
        self.write()

    def write(self, category="resolved", script="true", head=""):
        (self.root / "tools").mkdir(exist_ok=True)
        (self.root / "tools" / "sh.tool.yaml").write_text(script_tool(script))
        book = looking_book("health-check", category=category, code="service_healthy", meta=head)
        (self.root / "health-check.yaml").write_text(book)

    def start(self, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **environ):
        command = [sys.executable, "-m", "gert_core", "watch", "health-check.yaml", "--interval", "1s", *words]
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environ | environ,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def watch(self, *words, **environ):
        with self.start(*words, **environ) as process:
            try:
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
        return process.returncode, out, err


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


class TestCommand(CommandConformance):
    plugin = gert_watch
    args = ("--help",)


# -- lines -------------------------------------------------------------------------------------------------------


def said(category, code, duration, clock, **wanted):
    result = {"status": "completed", "outcome": {"category": category, "code": code}, "duration": duration}
    asked = WatchOptions(runbook=Path("x"), interval=300.0, start={}, host={}, **wanted)
    return line_of({"result": result}, asked).text(datetime.fromisoformat(f"2026-02-28T{clock}"))


def test_the_lines_are_those_of_the_design():
    stop = {"stop_on": ("escalated", "needs_rca")}
    assert [
        said("resolved", "service_healthy", "2.104s", "14:30:00", **stop),
        said("resolved", "service_healthy", "1.8s", "14:35:00", **stop),
        said("escalated", "unknown_failure", "4.283s", "14:40:00", **stop),
    ] == [
        "14:30:00  ✓ resolved (service_healthy)   2.1s",
        "14:35:00  ✓ resolved (service_healthy)   1.8s",
        "14:40:00  ✗ escalated (unknown_failure)  4.3s  ← stopping (--stop-on escalated)",
    ]


def test_an_outcome_from_a_runbook_cannot_steer_the_terminal():
    assert said("resolved", "\x1b[2J", "1s", "14:30:00").startswith("14:30:00  ✓ resolved (\\u001b[2J)")


@pytest.mark.parametrize(
    ("text", "shown"), [("0.04s", "0.0s"), ("59.9s", "59.9s"), ("61s", "1m 1s"), ("3725.2s", "62m 5s"), (None, "")]
)
def test_durations_are_short(text, shown):
    assert seconds(text) == shown


# -- the loop ----------------------------------------------------------------------------------------------------


def test_starts_are_an_interval_apart_and_each_run_has_a_trace(project, tmp_path):
    began = time.monotonic()
    code, out, err = project.watch("--count", "3")
    assert (code, err) == (0, "")
    assert time.monotonic() - began > 2
    lines = out.splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(LINE, line) for line in lines), out
    traces = sorted((tmp_path / "traces").iterdir())
    assert len(traces) == 3
    assert all(re.fullmatch(r"health-check-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(-\d)?\.jsonl", path.name) for path in traces)
    started = [datetime.fromisoformat(json.loads(path.read_text().splitlines()[0])["timestamp"]) for path in traces]
    gaps = [(later - first).total_seconds() for first, later in itertools.pairwise(started)]
    assert all(gap > 0.5 for gap in gaps), gaps  # the clock of the loop is exact; a run may take a moment to begin
    assert len({json.loads(path.read_text().splitlines()[0])["run_id"] for path in traces}) == 3


def test_runs_never_overlap(project, tmp_path):
    project.write(script="mkdir busy || echo overlap >> wrong; sleep 1.3; rmdir busy")
    assert project.watch("--count", "2")[0] == 0
    assert not (tmp_path / "wrong").exists()


def test_the_project_names_the_directory_of_traces_and_a_database_has_none(project, tmp_path):
    (tmp_path / "gert-project.yaml").write_text("traces: {dir: var/traces}\n")
    assert project.watch("--count", "1")[0] == 0
    assert len(list((tmp_path / "var" / "traces").iterdir())) == 1
    (tmp_path / "gert-project.yaml").write_text("store: sqlite:runs.db\n")
    assert project.watch("--count", "1")[0] == 0
    assert not (tmp_path / "traces").exists()


def taken_names():
    now = datetime.now().astimezone()
    return {f"health-check-{now + timedelta(seconds=n):%Y-%m-%dT%H:%M:%S}.jsonl" for n in range(60)}


@pytest.mark.parametrize(
    "plant", [Path.touch, os.mkfifo, lambda path: path.symlink_to("nowhere")], ids=["file", "pipe", "dangling link"]
)
def test_what_is_no_directory_of_traces_is_said(project, tmp_path, plant):
    plant(tmp_path / "traces")
    code, out, err = project.watch("--count", "1")
    assert (code, out) == (1, "")
    assert re.match(r"error: the directory of traces \S+/traces cannot be made: File exists\n  hint: make room", err), (
        err
    )
    assert "gert-watch" not in err, "the plugin is not broken"


def test_a_link_that_leads_nowhere_in_place_of_a_trace_does_not_end_the_loop(project, tmp_path):
    (tmp_path / "traces").mkdir()
    taken = taken_names()
    for name in taken:
        (tmp_path / "traces" / name).symlink_to("nowhere")
    code, _, err = project.watch("--count", "1")
    assert (code, err) == (0, "")
    assert not (tmp_path / "traces" / "nowhere").exists()


def test_a_trace_that_is_there_already_is_left_alone(project, tmp_path):
    (tmp_path / "traces").mkdir()
    taken = taken_names()
    for name in taken:
        (tmp_path / "traces" / name).write_text("mine")
    assert project.watch("--count", "1")[0] == 0
    (new,) = {path.name for path in (tmp_path / "traces").iterdir()} - taken
    assert new.removesuffix("-2.jsonl") + ".jsonl" in taken
    assert {(tmp_path / "traces" / name).read_text() for name in taken} == {"mine"}


@pytest.mark.parametrize(
    ("category", "words", "code", "number"),
    [
        ("escalated", ["--stop-on", "escalated,needs_rca"], 1, 1),
        ("escalated", ["--stop-on", "needs_rca", "--count", "2"], 0, 2),
        ("escalated", ["--fail-on", "escalated", "--count", "2"], 4, 2),
        ("needs_rca", ["--fail-on", "escalated", "--stop-on", "needs_rca"], 1, 1),
    ],
)
def test_outcomes_stop_it_or_are_told_at_the_end(project, category, words, code, number):
    project.write(category)
    found, out, err = project.watch(*words)
    assert (found, len(out.splitlines())) == (code, number), out + err
    assert out.endswith(f"← stopping (--stop-on {category})\n") == (code == 1)


@pytest.mark.parametrize(("words", "code"), [((), 4), (("--fail-on", "none"), 0), (("--fail-on", "needs_rca"), 0)])
def test_the_project_says_which_outcomes_are_failures(project, tmp_path, words, code):
    project.write("escalated")
    (tmp_path / "gert-project.yaml").write_text("fail_on: [escalated]\n")
    found, out, err = project.watch("--count", "1", *words)
    assert (found, len(out.splitlines())) == (code, 1), out + err
    (trace,) = (tmp_path / "traces").iterdir()
    recorded = json.loads(trace.read_text().splitlines()[0])["data"].get("fail_on", [])
    assert recorded == {(): ["escalated"], ("--fail-on", "needs_rca"): ["needs_rca"]}.get(words, [])


def test_a_failure_stops_it_and_says_why(project):
    project.write(script="echo no route >&2; exit 3")
    code, out, err = project.watch()
    assert code == 1
    assert re.fullmatch(r"\d\d:\d\d:\d\d  ✗ failed \(exit_code\) +\d+\.\ds  ← stopping \(failed\)\n", out)
    assert "step look: sh exited with code 3: no route (exit_code)" in err
    assert "next: gert resume --run" in err


def test_a_probe_that_fails_does_not_stop_it(project):
    project.write(script="exit 3")
    tool = (project.root / "tools" / "sh.tool.yaml").read_text()
    (project.root / "tools" / "sh.tool.yaml").write_text(tool.replace("[host]", "[network], writes: []"))
    code, out, err = project.watch("--mode", "probe", "--count", "2")
    assert (code, len(out.splitlines())) == (0, 2), out + err


@pytest.mark.parametrize("words", [("dry-run",), ("replay", "--scenario", "one")])
def test_runs_that_are_not_kept_are_shown_like_others_and_tell_nobody(project, tmp_path, words):
    project.write("escalated")
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: escalated, webhook: env/HOOK}]\nfail_on: [escalated]\n")
    (tmp_path / "scenarios" / "health-check" / "one").mkdir(parents=True)
    scenario = tmp_path / "scenarios" / "health-check" / "one" / "scenario.yaml"
    scenario.write_text("tool_responses: {sh:run: [{stdout: fine}]}\n")
    with Receiver() as receiver:
        code, out, err = project.watch("--mode", *words, "--count", "2", HOOK=receiver.url())
    assert (code, err, len(out.splitlines()), receiver.got) == (0, "", 2, [])
    assert not (tmp_path / "traces").exists()


def test_a_run_that_waits_for_people_stops_it(project):
    project.write(head=", governance: { rules: [{ effects: [host], action: require-approval }] }")
    code, out, err = project.watch("--pending-exit-code", "9")
    assert code == 9, out + err
    assert re.search(r"… approval_pending +\d+\.\ds  ← stopping \(approval_pending\)\n", out)
    assert "next: gert approve " in err


def test_a_key_that_cannot_sign_stops_it(project):
    code, out, err = project.watch(GERT_TRACE_SIGNING_KEY="not a key")
    assert (code, out) == (1, ""), err
    assert "GERT_TRACE_SIGNING_KEY" in err


# -- signals -----------------------------------------------------------------------------------------------------


def until(path, process):
    end = time.monotonic() + 30
    while not path.exists() and time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_lets_the_current_run_end_and_a_second_cancels_it(project, tmp_path, number, code):
    project.write(script="touch began; while [ ! -e go ]; do sleep 0.05; done")
    with project.start() as process:
        until(tmp_path / "began", process)
        process.send_signal(number)
        assert "stopping after this run" in process.stderr.readline()
        (tmp_path / "go").touch()
        out, _ = process.communicate(timeout=30)
    assert process.returncode == code
    assert re.fullmatch(f"{LINE}\n", out)
    for name in ("began", "go"):
        (tmp_path / name).unlink()
    with project.start() as process:
        until(tmp_path / "began", process)
        process.send_signal(number)
        process.stderr.readline()
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == code
    assert "✗ cancelled" in out


def test_a_signal_while_it_sleeps_ends_it_at_once(project):
    with project.start("--interval", "1h") as process:
        assert re.fullmatch(f"{LINE}\n", process.stdout.readline())
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(20) == 130
        assert time.monotonic() - began < 5
        process.communicate()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_one_signal_ends_it_also_where_nobody_reads_what_it_says(project, tmp_path, stream):
    with full_pipe() as full:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: full}
        process = project.start("--interval", "1h", **streams)
        try:
            until(tmp_path / "traces", process)
            time.sleep(1)  # the run has ended, and its line is printed
            process.send_signal(signal.SIGTERM)
            assert process.wait(8) == 143
        finally:
            process.kill()
            process.wait()


def test_signals_during_a_run_end_it_where_nobody_reads_what_it_says(project, tmp_path):
    project.write(script="touch began; sleep 60")
    with full_pipe() as full:
        process = project.start(stdout=full, stderr=full)
        try:
            until(tmp_path / "began", process)
            process.send_signal(signal.SIGTERM)
            time.sleep(1)
            assert process.poll() is None  # the run may end
            process.send_signal(signal.SIGTERM)
            assert process.wait(14) == 143
        finally:
            process.kill()
            process.wait()
    (trace,) = (tmp_path / "traces").iterdir()
    assert json.loads(trace.read_text().splitlines()[-1])["data"]["status"] == "cancelled"


# -- notifications -----------------------------------------------------------------------------------------------


def test_a_file_says_who_is_told_of_these_runs_and_no_tool_gets_the_address(project, tmp_path):
    project.write("escalated", script="env > seen")
    (tmp_path / "gert-watch.yaml").write_text("notify: [{on: escalated, webhook: env/HOOK}]\n")
    with Receiver(answers=[500, 200]) as receiver:
        code, _out, err = project.watch(
            "--count", "2", "--config", "gert-watch.yaml", HOOK=receiver.url("/s3cr3t-hook")
        )
    assert (code, err) == (0, "")
    assert [got.document["event"] for got in receiver.got] == ["escalated"] * 3
    assert len({got.headers["gert-delivery"] for got in receiver.got}) == 2
    seen = (tmp_path / "seen").read_text()
    assert ("s3cr3t" in seen, [line for line in seen.splitlines() if line.startswith("HOOK=")]) == (False, [])
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("runs/**/*") if path.is_file())
    assert b"s3cr3t" not in kept + b"".join(path.read_bytes() for path in (tmp_path / "traces").iterdir())


def test_what_is_not_delivered_stops_nothing(project, tmp_path):
    (tmp_path / "gert-watch.yaml").write_text("notify: [{on: resolved, webhook: env/HOOK}]\n")
    with Receiver(answers=[404]) as receiver:
        code, out, err = project.watch("--count", "2", "--config", "gert-watch.yaml", HOOK=receiver.url())
        assert (code, len(out.splitlines()), len(receiver.got)) == (0, 2, 2)
    assert err.count("warning: webhook was not told of resolved: answered with 404") == 2
    with Receiver() as receiver:
        assert project.watch("--count", "1", "--no-notify", "--config", "gert-watch.yaml", HOOK=receiver.url())[0] == 0
    assert receiver.got == []


def test_what_was_not_delivered_is_tried_again_while_it_sleeps(project, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(notifying, "AGAIN", 0.2)
    monkeypatch.setattr(outbox, "_FIRST", 0.1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: resolved, webhook: env/HOOK}]\n")
    with Receiver(answers=[500, 500, 500, 500, 200]) as receiver:
        threading.Thread(target=lambda: (receiver.until(5, 30), os.kill(os.getpid(), signal.SIGTERM))).start()
        words = ["health-check.yaml", "--interval", "1h"]
        assert Watch(read(words), environ=project.environ | {"HOOK": receiver.url()}).watch() == 143
    assert len({got.headers["gert-delivery"] for got in receiver.got}) == 1
    assert "warning: webhook was not told of resolved: answered with 500" in capfd.readouterr().err


def test_a_run_of_a_loop_that_was_killed_is_told_by_the_next_one(project, tmp_path, monkeypatch):
    project.write(script="touch began; sleep 60")
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: interrupted, webhook: env/HOOK}]\n")
    with project.start() as process:
        until(tmp_path / "began", process)
        process.kill()
        process.communicate()
    project.write()
    monkeypatch.setattr(owed, "SILENT", 0.0)
    monkeypatch.setattr(notifying, "AGAIN", 0.2)
    monkeypatch.chdir(tmp_path)
    with Receiver() as receiver:
        threading.Thread(target=lambda: (receiver.until(1, 30), os.kill(os.getpid(), signal.SIGTERM))).start()
        words = ["health-check.yaml", "--interval", "1h"]
        assert Watch(read(words), environ=project.environ | {"HOOK": receiver.url()}).watch() == 143
    assert receiver.got[0].document["event"] == "interrupted"


def test_a_receiver_that_hangs_delays_no_start_and_no_end(project, tmp_path):
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: resolved, webhook: env/HOOK}]\n")
    with Receiver(answers=[HANG]) as receiver:
        with project.start(HOOK=receiver.url()) as process:
            lines = [process.stdout.readline() for _ in range(3)]
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)  # enough of it
            _, err = process.communicate(timeout=30)
        first, _, last = (timedelta(**dict(zip(UNITS, map(int, line[:8].split(":")), strict=True))) for line in lines)
        assert (last - first).seconds < 8  # with three tries for each run it would be twenty
    assert process.returncode == 130
    assert "people may not have been told of all runs; `gert notify flush` tells them" in err


# -- the command line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--interval", "1s"], "give the runbook"),
        (["none.yaml", "--interval", "1s"], "does not exist"),
        (["tools", "--interval", "1s"], "is not a file"),
        (["health-check.yaml"], "--interval is missing"),
        (["health-check.yaml", "--interval", "500ms"], "1s is the least"),
        (["health-check.yaml", "--interval", "soon"], "not a valid duration"),
        (["health-check.yaml", "--interval", "1s", "--count", "0"], "--count takes a number from 1"),
        (["health-check.yaml", "--interval", "1s", "--stop-on", "broken"], "--stop-on takes categories"),
        (["health-check.yaml", "--interval", "1s", "--pending-exit-code", "256"], "0 to 255"),
        (["health-check.yaml", "--interval", "1s", "--config", "none.yaml"], "none.yaml does not exist"),
        (["health-check.yaml", "--interval", "1s", "--questions", "ask"], "gert watch never does"),
        (["health-check.yaml", "--interval", "1s", "--trace", "x"], "an option of gert exec only"),
        (["health-check.yaml", "--interval", "1s", "--record", "x"], "--record names one recording"),
    ],
)
def test_what_does_not_make_sense_is_refused_before_anything_runs(project, monkeypatch, words, problem):
    monkeypatch.chdir(project.root)
    with pytest.raises(UsageError) as caught:
        read(words)
    assert problem in caught.value.message
    assert caught.value.exit_code == 2


def test_a_file_with_notifications_that_is_not_valid_is_refused(project, tmp_path):
    (tmp_path / "gert-watch.yaml").write_text("notify: [{on: sometimes, webhook: env/HOOK}]\n")
    code, out, err = project.watch("--count", "1", "--config", "gert-watch.yaml")
    assert (code, out) == (2, ""), err
    assert "gert-watch.yaml" in err
