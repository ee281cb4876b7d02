"""kill -9 at every line a run writes: resumed, it comes out as if nothing had happened, and nothing happens twice."""

from __future__ import annotations

import json
import os
import signal

import everything
import pytest
from crash import Kill, assert_lines, finished_whole, kill_again, kill_once, kill_points

MANY = bool(os.environ.get("GERT_FUZZ"))
PARTS = (70, 68, 16)
"""How many lines each of the three processes writes: until the first approval, until the next ones, to the end."""
POINTS = kill_points(PARTS)
SAMPLE = [
    (0, 16, "before"),  # the person has answered
    (0, 30, "after"),  # between the export of a step and its end
    (0, 50, "before"),  # in the middle of branches
    (1, 3, "after"),  # approved, not yet started
    (1, 45, "before"),  # items at the same time
    (1, 57, "before"),  # the runner has answered
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run without a kill."""
    return finished_whole(everything.bench(tmp_path_factory.mktemp("whole")))


def test_the_run_writes_as_many_lines_as_the_kills_below_count_on(whole):
    assert_lines(whole, PARTS)


def test_the_run_has_every_step_type_and_every_tool_left_its_marks(whole):
    types = {record.type for record in whole.state().steps.values()}
    assert types == {"tool", "manual", "assert", "branch", "parallel", "end", "extension", "repeat"}
    assert {name: len(keys) for name, keys in whole.effects().items()} == {
        "probe": 4, "tag": 5, "push": 5, "deploy": 3, "runner": 1,
    }  # fmt: skip


@pytest.mark.parametrize("point", POINTS if MANY else SAMPLE, ids=str)
def test_killed_once(tmp_path, whole, point):
    kill_once(everything.bench(tmp_path), whole, point, once=everything.ONCE)


@pytest.mark.parametrize("seed", range(60 if MANY else 1))
def test_killed_again_and_again(tmp_path, whole, seed):
    kill_again(everything.bench(tmp_path), whole, seed, once=everything.ONCE)


def test_an_interrupted_write_is_not_repeated_until_a_person_decides(tmp_path, whole):
    bench = everything.bench(tmp_path)
    # The step that writes has been executed, and its result was never written down.
    line = next(e["seq"] for e in whole.lines() if e["type"] == "step_complete" and e["step_key"] == "which/1/chosen")
    assert bench.gert("exec", "runbook.yaml", "--approval", "inbox", "--var", "host=web", kill=Kill(line - 1, "before"), stdin=everything.ANSWERS).returncode == -signal.SIGKILL  # fmt: skip
    size = bench.trace.stat().st_size
    for _ in range(2):
        said = bench.gert("resume", "--run", bench.run_id, "--json", stdin=everything.ANSWERS)
        error = json.loads(said.stdout)["error"]
        assert (said.returncode, error["kind"]) == (1, "unknown_outcome")
        assert "which/1/chosen" in error["message"]
        assert "--reconcile 'which/1/chosen=done|redo|failed'" in error["hint"]
    assert bench.trace.stat().st_size == size, "a refused resume writes nothing"
    assert len(bench.effects()["push"]) == 1
