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
    with Gert(tmp_path) as made:
        made.write(book=BOOK, tool_t=TOOL)
        assert made("exec", "book.yaml").code != 0
        (tmp_path / "go").touch()
        yield made


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
