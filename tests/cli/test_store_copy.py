"""``gert store copy | upgrade``, ``gert runs export`` and ``gert trace ... --run``: runs leave their store as they are."""

from __future__ import annotations

import json
import os
import sqlite3
import tarfile

import pytest
from gertproc import Gert
from many_runs import write_run

BOOK = """\
apiVersion: kernel/v0
meta:
  name: moving
  governance: { rules: [{ effects: [host], action: require-approval }] }
tools: [note]
steps:
  - { id: look, type: assert, assert: [{ type: equals, value: "1", expected: "1" }] }
  - { id: write, type: tool, tool: note, action: write, artifacts: { note: { value: hello } } }
  - { type: end, outcome: { category: resolved } }
"""
NOTE = """\
apiVersion: tool/v0
meta: { name: note }
contract: { effects: [host], writes: [file] }
actions:
  write: { argv: [sh, -c, "echo once >> effects"] }
"""
OVER = "20260101T000000Z-many-1"


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


@pytest.fixture
def pending(gert):
    """A run that waits for an approval, and its ticket."""
    gert.write(book=BOOK, tool_note=NOTE)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "alice", "--json")
    assert said.document["status"] == "approval_pending", said.all
    return gert.run().name, gert("approvals", "list", "--json").document["approvals"][0]["ticket_id"]


@pytest.fixture
def over(gert, tmp_path):
    """A run that is over."""
    return write_run(tmp_path / "runs", OVER)


def test_a_run_is_moved_approved_and_resumed_in_the_other_store(gert, pending, tmp_path):
    run, ticket = pending
    trace = (tmp_path / "runs" / run / "trace.jsonl").read_bytes()
    said = gert("store", "copy", "file:runs", "sqlite:runs.db", "--run", run)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"error: run {run} is not over, and in two stores it could go on twice\n"
        "  hint: add --move: it goes on in the other store then\n"
    )
    assert not (tmp_path / "runs.db").exists()
    said = gert("store", "copy", "file:runs", "sqlite:runs.db", "--run", "latest", "--move")
    assert (said.code, said.err) == (0, "")
    there = f"sqlite:{tmp_path / 'runs.db'}"
    assert said.out == f"{run} moved to {there}: {trace.count(10)} events, 2 files\n"
    moved = f"error: run {run} was moved to {there}\n  hint: add --store {there}\n"
    for words in (
        *(("resume", run), ("resume", run, "--abort"), ("runs", "block", run, "--key", "k")),
        *(
            ("runs", "unblock", run, "--key", "k"),
            ("approve", ticket, "--as", "bob"),
            ("reject", ticket, "--as", "bob"),
        ),
        *(("runs", "reconcile", run, "write=done"), ("runs", "cancel", run)),
        *(("answer", run, "write", "a=b"), ("store", "copy", "file:runs", "sqlite:other.db", "--run", run)),
        ("store", "copy", "file:runs", "sqlite:other.db", "--run", run, "--move"),
    ):
        said = gert(*words)
        assert (said.code, said.out, said.err) == (1, "", moved), words
    assert gert("approvals", "list", "--json").document["approvals"] == []
    assert gert("runs", "status", run, "--json").document["status"] == "moved"
    assert gert("runs", "list", "--json").document["runs"][0]["status"] == "moved"
    assert gert("runs", "list", "--active", "--ids").out == ""
    assert gert("runs", "resume-point", run, "--json").document["needs"] is None
    assert gert("runs", "cleanup", "--older-than", "1s").out == ""
    assert f"  status:   moved to {there}" in gert("runs", "show", run).out
    assert gert("runs", "verify-ledger", run).out == "valid\n"
    assert gert("runs", "export", run).out.encode() == trace
    at = ("--store", "sqlite:runs.db")
    assert gert("runs", "export", run, *at).out.encode() == trace
    assert gert("trace", "verify", "--run", run, *at).out.startswith("✓ Chain integrity: ")
    assert "run_suspended" in gert("trace", "show", "--run", "latest", "--json", *at).out
    assert gert("approve", ticket, "--as", "bob", *at).code == 0
    said = gert("resume", run, *at)
    assert said.code == 0, said.all
    assert (tmp_path / "effects").read_text() == "once\n"
    assert gert("runs", "status", run, "--json", *at).document["status"] == "completed"
    assert gert("runs", "prune", "--older-than", "2999-01-01", *at).out == f"{run}\n"
    assert gert("runs", "prune", "--older-than", "2999-01-01").out == f"{run}\n", "what was moved away is over here"


def test_a_run_is_moved_back(gert, pending, tmp_path):
    run, ticket = pending
    assert gert("store", "copy", "file:runs", "sqlite:runs.db", "--move").code == 0
    assert gert("approve", ticket, "--as", "bob", "--store", "sqlite:runs.db").code == 0
    said = gert("store", "copy", "sqlite:runs.db", "file:runs", "--move", "--json")
    assert [(one["run_id"], one["what"]) for one in said.document["runs"]] == [(run, "moved")]
    assert gert("resume", run, "--store", "sqlite:runs.db").code == 1
    assert gert("resume", run).code == 0
    assert (tmp_path / "effects").read_text() == "once\n"


def test_all_runs_that_are_over_are_copied(gert, over, tmp_path):
    write_run(tmp_path / "runs", "20260102T000000Z-many-2", ending="failed")
    write_run(tmp_path / "runs", "20260103T000000Z-many-3", ending=None)
    there = f"sqlite:{tmp_path / 'runs.db'}"
    said = gert("store", "copy", "file:runs", "sqlite:runs.db")
    assert said.code == 1
    assert said.out == (
        f"{OVER} copied to {there}: 4 events, 1 file\n20260102T000000Z-many-2 copied to {there}: 4 events, 1 file\n"
    )
    assert said.err == (
        "left out: run 20260103T000000Z-many-3 is not over, and in two stores it could go on twice (run_unfinished)\n"
    )
    again = gert("store", "copy", "file:runs", "sqlite:runs.db", "--json")
    assert [one["what"] for one in again.document["runs"]] == ["there", "there"]
    assert [one["kind"] for one in again.document["refused"]] == ["run_unfinished"]
    listed = gert("runs", "list", "--ids", "--store", "sqlite:runs.db").out
    assert listed == f"20260102T000000Z-many-2\n{OVER}\n"
    assert gert("runs", "list", "--ids").out.count("\n") == 3, "they stay where they are"


def test_a_copy_that_differs_is_refused(gert, over, tmp_path):
    write_run(tmp_path / "other", OVER, runbook="another")
    said = gert("store", "copy", "file:runs", "file:other", "--run", OVER)
    assert (said.code, said.out) == (1, "")
    assert f"there is a run {OVER} in {tmp_path / 'other'} already, with other events" in said.err
    said = gert("store", "copy", "file:runs", "file:runs")
    assert (said.code, "is both stores" in said.err) == (2, True)
    said = gert("store", "copy", "file:runs", "nope:x")
    assert (said.code, "gert-store-nope" in said.err) == (3, True)
    said = gert("store", "copy", "file:nothing", "file:other")
    assert (said.code, said.err) == (0, f"no runs found in {tmp_path / 'nothing'}\n")


@pytest.mark.parametrize("target", ["file:other", "sqlite:other.db"])
def test_an_altered_trace_leaves_nothing_at_the_other_store(gert, over, target):
    trace = over / "trace.jsonl"
    trace.write_text(trace.read_text().replace('"step_id":"s0"', '"step_id":"s1"', 1))
    for words in (("--run", OVER), ("--run", OVER, "--move")):
        said = gert("store", "copy", "file:runs", target, *words)
        assert (said.code, said.out) == (1, "")
        assert f"the trace {trace} was altered: event 2 was altered: the hash chain breaks there" in said.err
        assert gert("runs", "list", "--ids", "--store", target).out == ""
    assert gert("runs", "status", OVER, "--json").document["status"] == "completed", "it was not moved"
    said = gert("runs", "export", OVER, "--out", "run.tar")
    assert (said.code, said.out) == (1, "")
    assert [path.name for path in over.parent.parent.iterdir() if "run.tar" in path.name] == []


def test_a_torn_end_is_named_and_left_out(gert, tmp_path):
    run = write_run(tmp_path / "runs", OVER, ending=None)
    trace = (run / "trace.jsonl").read_bytes()
    with (run / "trace.jsonl").open("ab") as file:
        file.write(b'{"type":"step_st')
    left_out = "left out: 16 bytes behind event 3, which a crash left and which are not an event\n"
    said = gert("runs", "export", OVER)
    assert (said.code, said.out.encode(), said.err) == (0, trace, left_out)
    assert gert("runs", "export", OVER, "--out", "x.jsonl", "--json").document["torn_bytes"] == 16
    said = gert("store", "copy", "file:runs", "sqlite:runs.db", "--move")
    assert (said.code, said.err) == (0, left_out)
    assert gert("runs", "export", OVER, "--store", "sqlite:runs.db").out.encode() == trace
    assert gert("runs", "export", OVER, "--store", "sqlite:runs.db", "--out", "run.tar").code == 0
    with tarfile.open(tmp_path / "run.tar") as archive:
        assert archive.extractfile(f"{OVER}/trace.torn").read() == b'{"type":"step_st\n'


def test_an_archive_is_a_run_again(gert, pending, tmp_path):
    run, _ = pending
    folder = tmp_path / "runs" / run
    (folder / "output").mkdir()
    (folder / "output" / "write-x.1.log").write_text("hello\n")
    said = gert("runs", "export", run, "--out", "run.tar")
    assert said.code == 0
    assert said.out.endswith(f"events and 3 files of run {run} written to run.tar\n")
    assert (tmp_path / "run.tar").stat().st_mode & 0o777 == 0o600
    first = (tmp_path / "run.tar").read_bytes()
    with tarfile.open(tmp_path / "run.tar") as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "again", filter="data")
    assert f"{run}/state.json" not in names
    assert f"{run}/output/write-x.1.log" in names
    assert (tmp_path / "again" / run / "trace.jsonl").read_bytes() == (folder / "trace.jsonl").read_bytes()
    assert gert("runs", "export", run, "--out", "again.tar", "--store", "file:again").code == 0
    assert (tmp_path / "again.tar").read_bytes() == first
    assert gert("runs", "export", run, "--out", "run.tar", "--no-output", "--json").document["blobs"] == 2
    said = gert("runs", "export", run, "--out", "no/such/run.tar")
    assert (said.code, said.err) == (2, "error: no/such/run.tar cannot be written: No such file or directory\n")


@pytest.mark.parametrize("name", ["link.tar", "pipe.jsonl", "folder.tar"])
def test_an_export_takes_the_place_of_files_only(gert, over, tmp_path, name):
    (tmp_path / "theirs").write_text("somebody's")
    (tmp_path / "link.tar").symlink_to("theirs")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.tar").mkdir()
    before = (tmp_path / name).lstat()
    said = gert("runs", "export", OVER, "--out", name)
    assert (said.code, said.err) == (
        2,
        f"error: {name} is there and is not a regular file; it stays as it is\n  hint: give another name\n",
    )
    after = (tmp_path / name).lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert (tmp_path / "theirs").read_text() == "somebody's"


def test_a_trace_elsewhere_comes_along(gert, tmp_path):
    gert.write(book="apiVersion: kernel/v0\nmeta: {name: b}\nsteps: [{type: end, outcome: {category: resolved}}]\n")
    assert gert("exec", "book.yaml", "--trace", "elsewhere.jsonl").code == 0
    trace = (tmp_path / "elsewhere.jsonl").read_text()
    assert gert("store", "copy", "file:runs", "file:other").code == 0
    (tmp_path / "elsewhere.jsonl").unlink()
    assert gert("runs", "export", "latest", "--store", "file:other").out == trace


def test_upgrade_says_what_the_store_is(gert, tmp_path):
    said = gert("store", "upgrade", "--store", "sqlite:runs.db")
    assert (said.code, said.out) == (0, f"sqlite:{tmp_path / 'runs.db'} has version 1 (sqlite)\n")
    assert gert("store", "upgrade", "--json").document["backend"] == "file"
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("UPDATE gert_schema SET version = 99")
    said = gert("store", "upgrade", "--store", "sqlite:runs.db")
    assert (said.code, "has tables of version 99" in said.err) == (3, True)


def test_trace_takes_a_file_or_a_run(gert, over):
    assert gert("trace", "verify", "--run", OVER).out == gert("trace", "verify", str(over / "trace.jsonl")).out
    assert gert("trace", "show", "--run", OVER).out == gert("trace", "show", str(over / "trace.jsonl")).out
    said = gert("trace", "verify")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: no trace is given")
    said = gert("trace", "show", "x.jsonl", "--run", OVER)
    assert (said.code, said.err.splitlines()[0]) == (2, "error: a file and a run are given")
    said = gert("trace", "verify", "x.jsonl", "--store", "file:runs")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: --store is for runs")
    said = gert("trace", "show", "--run", OVER, "--step", "nope")
    assert "belongs to step 'nope'; the steps are s0" in said.err
    assert json.loads(gert("trace", "verify", "--run", OVER, "--json").out)["verdict"] == "unsigned"
