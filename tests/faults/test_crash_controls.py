"""kill -9 at every line that a run with blocks, cleanup, waits, retries, gates, graphs and other runbooks writes."""

from __future__ import annotations

import json
import os

import controls
import pytest
from crash import assert_lines, finished_whole, kill_again, kill_once, kill_points
from jsonschema import Draft202012Validator

MANY = bool(os.environ.get("GERT_FUZZ"))
PARTS = (73, 62, 21)
"""How many lines each of the three processes writes: until the first approval, until the next one, to the end."""
POINTS = kill_points(PARTS)
SAMPLE = [point for number, point in enumerate(POINTS) if number % 61 == 17]
"""One kill in each region of the run; the fuzz session has all."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run without a kill."""
    return finished_whole(controls.bench(tmp_path_factory.mktemp("whole")))


def test_the_run_writes_as_many_lines_as_the_kills_below_count_on(whole):
    assert_lines(whole, PARTS)


def test_the_run_has_every_construct_and_every_tool_left_its_marks(whole):
    types = {record.type for record in whole.state().steps.values()}
    assert types == {"tool", "block", "wait", "repeat", "approval", "runbook", "dag", "end"}
    keys = set(whole.state().steps)
    assert {"risky/1/undo", "risky/2/unlock", "ready/2/ask", "rounds/1/turn", "hosts[a]/2/host_done"} <= keys
    assert {"child/0/move", "graph/3/publish", "@finally/tidy"} <= keys
    assert {name: len(marks) for name, marks in whole.effects().items()} == {
        "broken": 2, "look": 4, "push": 13, "shaky": 3,
    }  # fmt: skip


@pytest.mark.parametrize("point", POINTS if MANY else SAMPLE, ids=str)
def test_killed_once(tmp_path, whole, point):
    kill_once(controls.bench(tmp_path), whole, point, once=controls.ONCE)


@pytest.mark.parametrize("seed", range(60 if MANY else 1))
def test_killed_again_and_again(tmp_path, whole, seed):
    kill_again(controls.bench(tmp_path), whole, seed, once=controls.ONCE)


def test_the_trace_fits_its_schema(whole):
    schema = json.loads(whole.gert("schema", "trace").stdout)
    validator = Draft202012Validator(schema)
    events = whole.lines()
    assert [error.message for event in events for error in validator.iter_errors(event)] == []
    (looked, *_) = [event for event in events if event["type"] == "wait_round"]
    assert not validator.is_valid({**looked, "data": {**looked["data"], "round": "one"}})
