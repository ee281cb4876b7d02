"""Artifacts of a step that was interrupted and that a person stated to be done: what is not kept yet is kept then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: once }
contract: { effects: [filesystem], writes: [disk], inputs: { do: {} }, outputs: { out: { type: string } } }
actions: { do: { argv: ["sh", "-c", "{{ .do }}"], extract: { out: { from: stdout } } } }
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: b }
tools: [once]
steps:
  - id: a
    type: tool
    tool: once
    inputs: { do: 'printf x >> count; printf kept > made.txt; echo said' }
    artifacts: { report: { path: made.txt }, said: { value: '{{ .out }}' } }
    checkpoint: after
  - { id: gate, type: approval, message: Go on? }
  - { id: done, type: end, outcome: { category: resolved } }
"""
DENY = "apiVersion: policy/v0\nmeta: { name: p }\nrules: [ { contract_violations: deny } ]\n"
STATED = ("--reconcile", "a=done", "--outputs", '{"out": "said"}')


@pytest.fixture
def gert_here(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "once.tool.yaml").write_text(TOOL)
    (tmp_path / "b.yaml").write_text(BOOK)
    (tmp_path / "deny.yaml").write_text(DENY)
    return gert


class Run:
    """A run whose process was killed at a line of its trace."""

    def __init__(self, gert, *options):
        self.gert = gert
        _, out, err = gert("exec", "b.yaml", "--approval", "inbox", "--json", *options)
        document = json.loads(out)
        assert document["status"] == "approval_pending", err
        self.id, self.trace = document["run_id"], Path(document["trace"])
        self.whole = self.trace.read_bytes().splitlines(keepends=True)
        self.kept = self.artifacts()

    def cut(self, lines):
        """Leave the run as a process leaves it that is killed after these lines."""
        (self.trace.parent / "state.json").unlink(missing_ok=True)
        self.trace.write_bytes(b"".join(lines))

    def lines_in_the_step(self):
        """Every beginning of the trace in which the step was started and is not over."""
        types = [json.loads(line)["type"] for line in self.whole]
        return [self.whole[:size] for size in range(types.index("step_start") + 1, types.index("step_complete") + 1)]

    def resume(self, *options):
        code, out, err = self.gert("resume", "--run", self.id, "--json", *options)
        return code, json.loads(out), err

    def artifacts(self):
        return json.loads(self.gert("runs", "artifacts", self.id, "--json")[1])["artifacts"]

    def events(self, kind):
        lines = (json.loads(line) for line in self.trace.read_bytes().splitlines())
        return [event["data"] for event in lines if event["type"] == kind]

    def summaries(self):
        return sorted(data["summary_type"] for data in self.events("run_summary"))


def test_what_was_not_kept_yet_is_kept_once(gert_here, tmp_path):
    run = Run(gert_here)
    for lines in run.lines_in_the_step():
        run.cut(lines)
        code, document, err = run.resume(*STATED)
        assert (code, document["status"]) == (0, "approval_pending"), err
        assert run.artifacts() == run.kept
        assert run.summaries() == ["artifact::report", "artifact::said", "checkpoint::after"]
        assert run.gert("trace", "verify", str(run.trace))[0] == 0
    assert (tmp_path / "count").read_text() == "x"
    run.resume()
    assert run.summaries() == ["artifact::report", "artifact::said", "checkpoint::after"]


def test_it_is_kept_after_a_kill_between_the_statement_and_the_artifacts(gert_here):
    run = Run(gert_here)
    run.cut(run.lines_in_the_step()[0])
    run.resume(*STATED)
    lines = run.trace.read_bytes().splitlines(keepends=True)
    stated = [json.loads(line)["type"] for line in lines].index("step_complete") + 1
    for size in range(stated, stated + 3):
        run.cut(lines[:size])
        assert run.resume()[0] == 0
        assert run.artifacts() == run.kept
        assert len(run.summaries()) == 3


def test_it_is_kept_when_the_result_was_only_recorded(gert_here):
    run = Run(gert_here)
    run.cut(run.lines_in_the_step()[0])
    code, _, err = run.gert("runs", "reconcile", run.id, "a=done", "--outputs", '{"out": "said"}', "--no-resume")
    assert (code, run.summaries()) == (0, []), err
    assert run.resume()[0] == 0
    assert run.artifacts() == run.kept


def test_a_missing_file_is_told_once(gert_here, tmp_path):
    run = Run(gert_here)
    run.cut(run.lines_in_the_step()[0])
    (tmp_path / "made.txt").unlink()
    told = "warning: step a: artifact 'report': made.txt does not exist (missing_artifact)"
    assert told in run.resume(*STATED)[2]
    assert set(run.artifacts()) == {"said"}
    (tmp_path / "made.txt").write_text("something else")
    assert told not in run.resume()[2]
    assert [data["kind"] for data in run.events("contract_violation")] == ["missing_artifact"]
    assert set(run.artifacts()) == {"said"}


def test_a_policy_that_denies_violations_ends_the_run_until_the_file_is_there(gert_here, tmp_path):
    run = Run(gert_here, "--policy", "deny.yaml")
    run.cut(run.lines_in_the_step()[0])
    (tmp_path / "made.txt").unlink()
    code, document, _ = run.resume(*STATED)
    assert (code, document["status"], document["failure"]["kind"]) == (1, "error", "contract_violation")
    (tmp_path / "made.txt").write_text("kept")
    code, document, err = run.resume("--retry-failed", "--reconcile", "a=done")
    assert (code, document["status"]) == (0, "approval_pending"), err
    assert run.artifacts() == run.kept
    assert (tmp_path / "count").read_text() == "x"


def test_a_step_stated_to_have_failed_keeps_nothing(gert_here):
    run = Run(gert_here)
    run.cut(run.lines_in_the_step()[0])
    assert run.resume("--reconcile", "a=failed")[0] == 1
    assert run.summaries() == []


def test_the_checkpoint_of_a_loop_is_kept_once(gert_here, tmp_path):
    loop = "checkpoint: after\n    for_each: { as: n, over: [1, 2] }"
    (tmp_path / "b.yaml").write_text(BOOK.replace("checkpoint: after", loop))
    run = Run(gert_here)
    kept = [number for number, line in enumerate(run.whole, start=1) if b"checkpoint::after" in line]
    assert len(kept) == 1
    run.cut(run.whole[: kept[0]])
    assert run.resume()[0] == 0
    assert run.summaries().count("checkpoint::after") == 1
