"""Rows of ended runs that are made of two lines are those that the fold makes; what is doubtful is left to the fold."""

from __future__ import annotations

import fcntl
import json
import shutil

import pytest
from many_runs import ENDINGS, write_run
from repository import ROOT

from gert_core.api import RunQuery
from gert_core.runs.listing import run_info
from gert_core.runs.rows import row_of
from gert_core.stores.directory import DirectoryRun, DirectoryStore
from gert_core.stores.quick_rows import row_of_directory, row_of_trace

RUN = "20260101T000000Z-many-00000001"
KEPT = sorted(path.parent for path in (ROOT / "tests" / "data").glob("*/**/trace.jsonl"))


def folded(path):
    return row_of(run_info(DirectoryRun(path)))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_quick_row_is_that_of_the_fold(tmp_path, ending):
    path = write_run(tmp_path, RUN, ending=ending, steps=3, tenant="t1")
    quick = row_of_directory(path)
    assert quick is not None
    assert quick == folded(path)


def test_kept_runs_of_real_life_have_the_row_of_the_fold(tmp_path):
    """Resumed, approved, rejected, killed and cancelled ones among them."""
    quick = 0
    for number, source in enumerate(KEPT):
        path = tmp_path / str(number) / source.name
        shutil.copytree(source, path)
        found = row_of_directory(path)
        quick += found is not None
        assert found is None or found == folded(path), source
    assert len(KEPT) > 10
    assert 0 < quick < len(KEPT)


def edit(path, change):
    trace = path / "trace.jsonl"
    trace.write_bytes(change(trace.read_bytes()))


def drop_line(data):
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:1] + lines[2:])


def event(trace, number, **change):
    lines = trace.splitlines()
    known = json.loads(lines[number])
    lines[number] = json.dumps({**known, **change}, separators=(",", ":")).encode()
    return b"\n".join(lines) + b"\n"


DEEP = b"[" * 100_000 + b"]" * 100_000
DEEP_META = b'{"deep": ' + DEEP + b"}"


def nested(number):
    def change(data):
        lines = data.splitlines(keepends=True)
        lines[number] = lines[number].replace(b'"data":{', b'"data":{"deep":' + DEEP + b",", 1)
        return b"".join(lines)

    return change


DOUBTS = {
    "a first line that is nested too deeply": nested(0),
    "a line that is nested too deeply": nested(1),
    "a last line that is nested too deeply": nested(-1),
    "a torn end": lambda data: data + b'{"type":"step',
    "zeros": lambda data: data + b"\0\0\n",
    "a line after the end": lambda data: data + data.splitlines(keepends=True)[1],
    "no JSON in the middle": lambda data: data.replace(b'{"type":"step_complete"', b'{"type":step_complete"', 1),
    "a missing line": drop_line,
    "another run": lambda data: event(data, 1, run_id="20260101T000000Z-many-00000002"),
    "a resumed run": lambda data: event(data, 1, type="run_resumed"),
    "a suspended run": lambda data: event(data, 1, type="run_suspended"),
    "no end": lambda data: data[: data.rindex(b'{"type":"run_complete"')],
    "no beginning": lambda data: data.replace(b"run_start", b"run_began", 1),
    "a status that is none": lambda data: event(data, -1, data={"status": 5, "duration": "1.000s"}),
    "a duration that is none": lambda data: event(data, -1, data={"status": "completed", "duration": "long"}),
    "a code that is no text": lambda data: event(
        data, -1, data={"status": "completed", "outcome": {"category": "resolved", "code": 7}}
    ),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("change", DOUBTS.values(), ids=DOUBTS.keys())
def test_a_trace_that_is_not_as_usual_is_left_to_the_fold(tmp_path, change):
    path = write_run(tmp_path, RUN)
    assert row_of_directory(path) is not None
    edit(path, change)
    assert row_of_directory(path) is None
    assert [row.run_id for row in DirectoryStore(tmp_path).runs(RunQuery())] == [RUN]


@pytest.mark.parametrize("status", ["failed", "error", "cancelled"])
def test_a_run_that_may_wait_for_something_is_left_to_the_fold(tmp_path, status):
    for type_ in ("approval_submitted", "question_asked", "pause_requested", "step_started_only"):
        path = write_run(tmp_path / type_, RUN, ending="failed", steps=2)
        if type_ == "step_started_only":
            edit(path, lambda data: event(data, 4, type="tool_call"))
        else:
            edit(path, lambda data, type_=type_: event(data, 2, type=type_))
        data = (path / "trace.jsonl").read_bytes()
        assert row_of_trace(event(data, -1, data={"status": status, "duration": "1.000s"})) is None
        assert row_of_trace(event(data, -1, data={"status": "completed", "duration": "1.000s"})) is not None


@pytest.mark.parametrize("meta", [b"{", b'{"moved": {"to": "x"}}', b'{"trace": "/elsewhere"}', DEEP_META, None])
def test_a_run_that_is_elsewhere_or_whose_meta_is_damaged_is_left_to_the_fold(tmp_path, meta):
    path = write_run(tmp_path, RUN)
    (path / "meta.json").unlink()
    if meta is not None:
        (path / "meta.json").write_bytes(meta)
    assert row_of_directory(path) is None


def test_a_run_that_a_process_holds_or_that_is_linked_is_left_to_the_fold(tmp_path):
    path = write_run(tmp_path, RUN)
    with (path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert row_of_directory(path) is None
    assert row_of_directory(path) is not None
    (path / "trace.jsonl").rename(tmp_path / "trace.jsonl")
    (path / "trace.jsonl").symlink_to(tmp_path / "trace.jsonl")
    assert row_of_directory(path) is None
    shutil.rmtree(path)
    assert row_of_directory(path) is None


def test_a_run_under_another_name_is_left_to_the_fold(tmp_path):
    path = write_run(tmp_path, RUN)
    other = path.with_name("20260101T000000Z-many-00000009")
    path.rename(other)
    assert row_of_directory(other) is None
