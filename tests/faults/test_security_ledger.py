"""An approval serves one execution: the ledger beside the runs knows it when a run directory was copied or restored."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time

import pytest
from binding import (
    PROGRAM,
    TOOL,
    acted,
    approve,
    bound_gert,
    kept_aside,
    kill_at,
    of,
    pending,
    program,
    restore,
    resume,
)


@pytest.fixture
def gert(tmp_path):
    return bound_gert(tmp_path)


def test_a_restored_run_directory_executes_nothing_under_the_old_approval(gert):
    first = pending(gert)
    approve(gert, first)
    run, copy = kept_aside(gert)
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one"]
    for _ in range(2):
        restore(run, copy)
        said = gert("resume", "--run", run.name, "--json")
        assert said.document["status"] == "approval_pending", said.all
        assert "its approval was used for an execution that this trace does not have" in said.err
        assert acted(gert) == ["one"]
        assert of(gert, "approval_void")[-1] == {"step_id": "act", "ticket_id": first, "changed": ["execution"]}
    approve(gert, said.document["pending"][0]["ticket_id"])
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one", "one"], "under an approval of its own"
    assert [line.split()[0] for line in gert("runs", "list").out.splitlines()[1:]] == [run.name]


def test_a_copy_resumed_while_the_first_still_executes(gert):
    """Two directories of one run: the lock of one does not lock the other, but the ledger does."""
    program(gert, '#!/bin/sh\necho "$1" >> acted; while [ ! -e go ]; do sleep 0.05; done\n')
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    argv = [sys.executable, "-m", "gert_core", "resume", "--run", run.name]
    first = subprocess.Popen(argv, cwd=gert.root, env=gert.environ, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 30
    # A program is listed after its start.
    while not (acted(gert) and (run / "children").exists()) and time.monotonic() < until:
        time.sleep(0.05)
    run.rename(gert.root / "moved")
    copy.rename(run)
    said = resume(gert)
    assert said.get("status") == "approval_pending", said
    (gert.root / "go").touch()
    first.wait(30)
    assert acted(gert) == ["one"]


@pytest.mark.parametrize("damage", ["content", "place"])
def test_nothing_is_executed_when_it_cannot_be_claimed(gert, damage):
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    if damage == "place":
        (run.parent / ".ledger").write_text("")
    else:
        assert resume(gert)["status"] == "completed"
        for file in run.parent.glob(".ledger/*/*.jsonl"):
            file.write_text("rubbish\n")
        (gert.root / "acted").unlink()
        restore(run, copy)
    said = gert("resume", "--run", run.name)
    assert said.code == 1
    assert "the ledger of executions cannot be used" in said.err
    assert ".ledger" in said.err
    assert acted(gert) == []
    if damage == "place":
        (run.parent / ".ledger").unlink()
        assert resume(gert)["status"] == "completed"
        assert acted(gert) == ["one"]


def test_a_process_killed_between_claim_and_start_keeps_its_approval(gert):
    """Nothing was done under it; once something may have been done, it is used."""
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    for _ in range(2):
        kill_at(gert, "step_start")
    assert acted(gert) == []
    (ledger,) = run.parent.glob(".ledger/*/*.jsonl")
    assert [json.loads(line)["state"] for line in ledger.read_text().splitlines()] == ["open", "failed", "open"]
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one"]
    assert len(of(gert, "approval_submitted")) == 1
    restore(run, copy)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == ["one"]


@pytest.mark.parametrize("repeatable", [False, True])
def test_a_run_restored_after_its_process_was_killed_in_the_execution(gert, repeatable):
    if repeatable:
        gert.write(tool_act=TOOL.replace("writes: [production]", "writes: [production], idempotent: true"))
    approve(gert, pending(gert))
    run, copy = kept_aside(gert)
    kill_at(gert, "step_complete")
    restore(run, copy)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == ["one"]


def test_a_start_under_an_earlier_ticket_is_not_a_start_under_this_one(gert):
    """The trace of the restored run has a start, but of before the request changed and was approved again."""
    gert.write(tool_act=TOOL.replace("writes: [production]", "writes: [production], idempotent: true"))
    approve(gert, pending(gert))
    kill_at(gert, "step_complete")
    program(gert, PROGRAM + "# another program\n")
    second = resume(gert)["pending"][0]["ticket_id"]
    approve(gert, second)
    run, copy = kept_aside(gert)
    kill_at(gert, "step_complete")
    assert acted(gert) == ["one", "one"]
    killed = gert.root / "killed"
    shutil.copytree(run, killed)
    restore(run, copy)
    assert resume(gert)["status"] == "approval_pending"
    assert acted(gert) == ["one", "one"]
    assert of(gert, "approval_void")[-1] == {"step_id": "act", "ticket_id": second, "changed": ["execution"]}
    restore(run, killed)
    assert resume(gert)["status"] == "completed", "this trace has the start under the second ticket"
    assert acted(gert) == ["one", "one", "one"]


def test_a_repeatable_execution_that_was_interrupted_keeps_its_approval(gert):
    gert.write(tool_act=TOOL.replace("writes: [production]", "writes: [production], idempotent: true"))
    approve(gert, pending(gert))
    kill_at(gert, "step_complete")
    assert acted(gert) == ["one"]
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one", "one"]
    assert len(of(gert, "approval_submitted")) == 1


def test_an_interrupted_execution_that_is_to_be_redone_is_asked_about_again(gert):
    approve(gert, pending(gert))
    kill_at(gert, "step_complete")
    waiting = resume(gert, "--reconcile", "act=redo")
    assert waiting["status"] == "approval_pending"
    assert acted(gert) == ["one"]
    approve(gert, waiting["pending"][0]["ticket_id"])
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one", "one"]
    assert [data["generation"] for data in of(gert, "approval_submitted")] == [1, 2]
