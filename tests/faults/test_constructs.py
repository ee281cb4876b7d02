"""Every construct of the language: validated, rehearsed, run, replayed, killed at each line that it writes, and resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import zlib

import pytest
from constructs import CONSTRUCTS, bench
from crash import Kill, assert_same

from gert_core.cli import main
from gert_core.validation.rules import MACHINE

MANY = bool(os.environ.get("GERT_FUZZ"))
ONCE = ("push",)
"""The tool that writes and is not idempotent: each key must be there once."""
SAMPLE = ["on_failure", "wait until", "runbook", "for_each of a block", "approval", "dag", "secret output"]
"""Constructs that are killed once; the fuzz session kills all of them at every line."""
constructs = pytest.mark.parametrize("name", CONSTRUCTS)


@pytest.fixture
def gert(capsys, monkeypatch):
    """Runs gert in this process and reads its JSON."""

    def run(made, *words):
        monkeypatch.chdir(made.root)
        monkeypatch.setenv("PATH", f"{made.root / 'bin'}:{os.environ['PATH']}")
        code = main([*words, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return run


@constructs
def test_validate(tmp_path, gert, name):
    code, told, _ = gert(bench(tmp_path, name), "validate", "runbook.yaml")
    assert (code, [one for one in told["diagnostics"] if one["rule"] not in MACHINE]) == (0, [])


@constructs
def test_dry_run(tmp_path, gert, name):
    made = bench(tmp_path, name)
    code, told, said = gert(made, "exec", "runbook.yaml", "--mode", "dry-run", "--var", "host=web")
    assert (code, told["mode"], made.effects()) == (0, "dry-run", {}), said
    assert "resolved" in {one["category"] for one in told.get("possible_outcomes", [told["outcome"]])}


@constructs
def test_probe(tmp_path, gert, name):
    """Only what reads is executed."""
    made = bench(tmp_path, name)
    code, told, said = gert(made, "exec", "runbook.yaml", "--mode", "probe", "--var", "host=web", "--no-input")
    assert (code, told["mode"], set(made.effects()) <= {"look", "broken", "odd", "slow"}) == (0, "probe", True), said


@constructs
def test_explained_and_drawn(tmp_path, capsys, monkeypatch, name):
    monkeypatch.chdir(bench(tmp_path, name).root)
    ids = re.findall(r"- (?:{)?id: (\w+)", CONSTRUCTS[name].runbook())
    for verb in ("explain", "graph"):
        assert main([verb, "runbook.yaml"]) == 0
        shown = capsys.readouterr().out
        assert [one for one in ids if not re.search(rf"\b{one}\b", shown)] == []


@constructs
def test_replay(tmp_path, gert, name):
    made = bench(tmp_path, name)
    code, told, said = gert(made, "test", "runbook.yaml")
    assert (code, told["summary"]["passed"], said, made.effects()) == (0, 1, "", {})
    code, told, said = gert(made, "exec", "runbook.yaml", "--mode", "replay", "--scenario", "same")
    assert (code, told["outcome"]["meta"]) == (0, CONSTRUCTS[name].means), said


@constructs
def test_exec(tmp_path, gert, name):
    made = executed(bench(tmp_path, name), gert)
    assert made.state().outcome["meta"] == CONSTRUCTS[name].means
    made.assert_sound()


@pytest.mark.parametrize("name", CONSTRUCTS if MANY else SAMPLE)
def test_killed_at_each_line_and_resumed(tmp_path, gert, name):
    whole = executed(bench(tmp_path / "whole", name), gert)
    ends = [event["seq"] for event in whole.lines() if event["type"] in ("run_suspended", "run_complete")]
    kills = [
        (process, Kill(line - start, when))
        for process, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        for line in range(start + 1, end + 1)
        for when in ("after", "before")
        if (line, when) != (1, "before")  # then there is no run
    ]
    for number, (process, kill) in enumerate(kills if MANY else [kills[zlib.crc32(name.encode()) % len(kills)]]):
        made = bench(tmp_path / str(number), name)
        said = made.finish(*[None] * process, kill)
        told = f"killed {kill} of process {process + 1}"
        assert said[process].returncode == -signal.SIGKILL, told
        assert {one.returncode for one in (*said[:process], *said[process + 1 :])} <= {0}, f"{told}: {said[-1].stderr}"
        assert_same(made, whole, told, once=ONCE, again=CONSTRUCTS[name].again)


def executed(made, gert):
    """Run a construct to its end; in this process if nobody has to type anything."""
    if made.answers:
        assert {one.returncode for one in made.finish()} == {0}
        return made
    code, told, said = gert(made, "exec", "runbook.yaml", "--approval", "inbox", "--var", "host=web")
    while code == 0 and told["status"] == "approval_pending":
        made.approve_all()
        code, told, said = gert(made, "resume", "--run", made.run_id)
    assert (code, told["status"]) == (0, "completed"), said
    return made
