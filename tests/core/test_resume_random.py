"""Random runbooks, cut off anywhere and resumed: same outcome, same steps, same variables, nothing executed again."""

from __future__ import annotations

import hashlib
import os
import random
import shutil

import pytest
from lab import Lab
from shapes import TOOLS, Shape

from gert_core.approvals.inbox import entries, respond
from gert_core.engine.resume.plan import RunFinished
from gert_core.runs.fold import fold
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.reader import read
from gert_core.trace.verify import verify

MANY = bool(os.environ.get("GERT_FUZZ"))
SEEDS = range(200 if MANY else 24)
CUTS = 30 if MANY else 4


def outputs_of(trace):
    """The outputs that the trace records last for each step."""
    return {e.step_key: e.data.get("outputs") or {} for e in read(trace) if e.type == "step_complete"}


def variables_of(ran):
    """The variables at the end; people who tell what became of a step do not tell its exit code."""
    seen = ran.result.variables.names_visible()
    return {n: {k: v for k, v in e.items() if k != "exit_code"} if type(e) is dict else e for n, e in seen.items()}


class Life:
    """One run and its second lives."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.chance = random.Random(f"cut {seed}")
        book = Shape(seed, gates=seed % 3 == 0).runbook()
        self.whole = self.to_the_end(lab.runner(book, files=TOOLS, approval="inbox"))
        self.run_id, self.trace = self.whole.result.run_id, self.whole.result.trace
        self.lines = self.trace.read_bytes().splitlines(keepends=True)
        self.records = fold(read(self.trace)).steps
        self.outputs = outputs_of(self.trace)
        self.kept = self.trace.parent.with_name("kept.whole")
        shutil.copytree(self.trace.parent, self.kept)
        self.ended = {e.seq for e in self.whole.events if e.type == "run_complete"}

    def to_the_end(self, ran):
        """Approve and resume until nothing is pending."""
        while ran.status == "approval_pending":
            for entry in entries(DirectoryStore(ran.runs)):
                if entry.resolved is None and not entry.answered:
                    respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)
            ran = self.lab.runner.resume(ran.result.run_id)
        return ran

    def cut(self, lines: list[bytes], *, first: bool = True) -> None:
        """Put the run back to when only these lines were on disk; what was asked before stays in the inbox."""
        if first:  # a second life has tickets of its own
            shutil.rmtree(self.trace.parent)
            shutil.copytree(self.kept, self.trace.parent)
        (self.trace.parent / "state.json").unlink(missing_ok=True)
        self.trace.write_bytes(b"".join(lines))
        asked = {e.data["ticket_id"] for e in read(self.trace) if e.type == "approval_submitted"}
        for path in (self.trace.parent / "tickets").glob("*"):  # a request is on disk before anybody is asked
            if path.name.partition(".")[0] not in asked:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def resume(self):
        """Go on as a person would, and check that nothing that is finished is executed again."""
        state = fold(read(self.trace))
        self.lab.calls.clear()
        verdicts = {record.key: self.chance.choice(["done", "redo"]) for record in state.unknown_outcomes}
        done = {key: self.outputs[key] for key, verdict in verdicts.items() if verdict == "done"}
        # A step that had failed in the whole run can only be redone: people do not invent failures.
        for key in [key for key in done if self.records[key].failed]:
            verdicts[key] = "redo"
            del done[key]
        ran = self.to_the_end(self.lab.runner.resume(self.run_id, reconcile=verdicts, outputs=done))
        called = [call.key for call in self.lab.calls]
        over = {self.key(key) for key, record in state.steps.items() if record.done} | {self.key(key) for key in done}
        assert not over & set(called), "a finished step was executed again"
        assert len(called) == len(set(called)), "a step was executed twice"
        self.executed = set(called) | over
        return ran

    def key(self, step_key: str) -> str:
        return hashlib.sha256(f"{self.run_id}\n{step_key}".encode()).hexdigest()

    def same(self, ran, told: str) -> None:
        whole = self.whole
        assert (ran.status, ran.result.outcome) == (whole.status, whole.result.outcome), (told, ran.result.failures)
        assert ran.steps == whole.steps, told
        tools = {k for k, r in self.records.items() if r.type == "tool" and r.acts and r.status != "skipped"}
        assert self.executed >= {self.key(key) for key in tools}, told
        assert [(f.key, f.kind) for f in ran.result.failures] == [(f.key, f.kind) for f in whole.result.failures], told
        assert ran.result.outputs == whole.result.outputs, told
        assert variables_of(ran) == variables_of(whole), told
        state = fold(read(self.trace))
        assert {k: r.status for k, r in state.steps.items()} == {k: r.status for k, r in self.records.items()}, told
        assert outputs_of(self.trace) == self.outputs, told
        verdict = verify(self.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", told


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_cut_off_anywhere_comes_out_the_same(tmp_path, seed):
    life = Life(Lab(tmp_path), seed)
    points = [n for n in range(1, len(life.lines)) if n not in life.ended]
    for count in sorted(life.chance.sample(points, min(CUTS, len(points)))):
        life.cut(life.lines[:count])
        life.same(life.resume(), f"cut after event {count}")
        again = life.trace.read_bytes().splitlines(keepends=True)
        if len(again) - count > 2:  # and once more, in its second life
            second = life.chance.randint(count + 1, len(again) - 1)
            life.cut(again[:second], first=False)
            try:
                life.same(life.resume(), f"cut after event {count}, then after event {second}")
            except RunFinished:
                pytest.fail(f"cut after {count}, then after {second}: counts as finished")
