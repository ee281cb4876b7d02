"""``gert runs reconcile``: what ``gert resume --reconcile`` does, with the run and the results as arguments."""

from __future__ import annotations

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: {name: b}
tools: [t]
steps:
  - {id: a, type: tool, tool: t, action: a}
  - {type: end, outcome: {category: resolved, code: fine}}
"""
TOOL = """\
apiVersion: tool/v0
meta: {name: t}
contract: {effects: [host], writes: [x]}
actions: {a: {argv: [sh, -c, "echo x >> did; test -e go || kill -9 $PPID"]}}
"""


@pytest.fixture
def gert(tmp_path):
    """A run whose only step took effect and was interrupted."""
    made = Gert(tmp_path)
    made.write(book=BOOK, tool_t=TOOL)
    assert made("exec", "book.yaml").code != 0
    (tmp_path / "go").touch()
    return made


@pytest.mark.parametrize(("result", "code", "status", "times"), [("done", 0, "completed", 1), ("redo", 0, "completed", 2), ("failed", 1, "failed", 1)])  # fmt: skip
def test_a_stated_result_resumes_the_run(gert, tmp_path, result, code, status, times):
    said = gert("runs", "reconcile", "latest", f"a={result}", "--as", "alice", "--json")
    assert (said.code, said.document["status"]) == (code, status), said.all
    assert len((tmp_path / "did").read_text().split()) == times
    (resumed,) = [event for event in gert.events() if event["type"] == "run_resumed"]
    assert (resumed["data"]["actor"], resumed["data"]["reconciled"]) == ("alice", {"a": result})


def test_what_cannot_be_meant_is_refused_and_changes_nothing(gert):
    before = (gert.run() / "trace.jsonl").read_bytes()
    for words, code, message in (
        (["latest", "a=maybe"], 2, "takes done, redo, failed, not 'maybe'"),
        (["latest", "b=done"], 2, "names 'b', whose outcome is not unknown"),
        (["latest", "a"], 2, "takes STEP_KEY=done|redo|failed"),
        (["latest"], 2, "Missing argument"),
        (["nope", "a=done"], 2, "there is no run nope in "),
        (["latest", "a=redo", "--outputs", "{}"], 2, "are for a step reconciled as done"),
    ):
        said = gert("runs", "reconcile", *words)
        assert (said.code, message in said.err) == (code, True), said.all
    assert (gert.run() / "trace.jsonl").read_bytes() == before


def test_a_word_that_is_no_result_is_refused_for_a_finished_run_too(gert):
    assert gert("runs", "reconcile", "latest", "a=done").code == 0
    said = gert("runs", "reconcile", "latest", "a=maybe")
    assert (said.code, "takes done, redo, failed, not 'maybe'" in said.err) == (2, True), said.all
    said = gert("runs", "reconcile", "latest", "b=done")
    assert (said.code, "names 'b', and the run has no such step\n  hint: steps are: a, " in said.err) == (2, True), (
        said.all
    )
    assert gert("runs", "reconcile", "latest", "a=done").code == 0, "a result may be stated twice"


@pytest.mark.parametrize(("result", "code", "status"), [("done", 0, "completed"), ("failed", 1, "failed")])
def test_a_result_is_only_recorded_with_no_resume(gert, tmp_path, result, code, status):
    run = gert.run().name
    said = gert("runs", "reconcile", "latest", f"a={result}", "--as", "alice", "--no-resume")
    assert (said.code, said.err) == (0, ""), said.all
    assert said.out == f"Recorded.\n  next: gert resume --run {run}\n"
    events = gert.events()[-3:]
    assert [event["type"] for event in events] == ["run_resumed", "step_complete", "run_suspended"]
    assert (events[0]["data"]["actor"], events[0]["data"]["reconciled"]) == ("alice", {"a": result})
    assert events[2]["data"]["status"] == "queued"
    stands = gert("runs", "status", run, "--json").document
    assert (stands["status"], stands["blocked_on"]) == ("queued", [])
    assert gert("runs", "verify-ledger", run).out == "valid\n"
    said = gert("resume", run, "--json")
    assert (said.code, said.document["status"]) == (code, status), said.all
    assert (tmp_path / "did").read_text().split() == ["x"]


def test_no_resume_executes_nothing(gert, tmp_path):
    before = (gert.run() / "trace.jsonl").read_bytes()
    said = gert("runs", "reconcile", "latest", "a=redo", "--no-resume")
    assert said.code == 2
    assert said.err.startswith("error: a=redo runs the step again, which --no-resume does not\n")
    assert (gert.run() / "trace.jsonl").read_bytes() == before
    document = gert("runs", "reconcile", "latest", "a=done", "--no-resume", "--json").document
    assert (document["status"], document["last_event_type"]) == ("queued", "run_suspended")
    assert (tmp_path / "did").read_text().split() == ["x"]


def test_one_step_is_shown_with_what_is_recorded_of_it(gert):
    said = gert("runs", "show", "latest", "--step", "a")
    assert said.code == 0
    assert said.out.startswith("a (tool): interrupted\n")
    assert "▸ a (tool)" in said.out
    document = gert("runs", "show", "latest", "--step", "a", "--json").document
    assert [step["step_key"] for step in document["steps"]] == ["a"]
    assert {event["step_key"] for event in document["events"]} == {"a"}
    said = gert("runs", "show", "latest", "--step", "b")
    assert said.code == 1
    assert said.err == (
        f"error: run {gert.run().name} has no step 'b'\n  hint: gert runs show {gert.run().name} lists its steps\n"
    )
