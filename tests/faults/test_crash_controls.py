"""kill -9 at every line that a run with blocks, cleanup, waits, retries, gates, graphs and other runbooks writes."""

from __future__ import annotations

import json
import os
import random
import signal
from itertools import accumulate

import controls
import pytest
from crash import Kill, assert_same
from jsonschema import Draft202012Validator

MANY = bool(os.environ.get("GERT_FUZZ"))
PARTS = (73, 62, 21)
"""How many lines each of the three processes writes: until the first approval, until the next one, to the end."""
POINTS = [
    (part, line, when)
    for part, lines in enumerate(PARTS)
    for line in range(1, lines + 1)
    for when in ("after", "before")
    if (part, line, when) != (0, 1, "before")  # then there is no run
]
SAMPLE = [point for number, point in enumerate(POINTS) if number % 61 == 17]
"""One kill in each region of the run; the fuzz session has all."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run without a kill."""
    made = controls.bench(tmp_path_factory.mktemp("whole"))
    said = made.finish()
    assert [one.returncode for one in said] == [0, 0, 0], said[-1].stderr
    made.assert_sound()
    return made


def test_the_run_writes_as_many_lines_as_the_kills_below_count_on(whole):
    ends = [event["seq"] for event in whole.lines() if event["type"] in ("run_suspended", "run_complete")]
    assert ends == list(accumulate(PARTS))


def test_the_run_has_every_construct_and_every_tool_left_its_marks(whole):
    types = {record.type for record in whole.state().steps.values()}
    assert types == {"tool", "block", "wait", "repeat", "approval", "runbook", "dag", "end"}
    keys = set(whole.state().steps)
    assert {"risky/1/undo", "risky/2/unlock", "ready/2/ask", "rounds/1/turn", "hosts[a]/2/host_done"} <= keys
    assert {"child/0/move", "graph/3/publish", "@finally/tidy"} <= keys
    assert {name: len(marks) for name, marks in whole.effects().items()} == {
        "broken": 2, "look": 4, "push": 13, "shaky": 3,
    }  # fmt: skip


@pytest.mark.parametrize(("part", "line", "when"), POINTS if MANY else SAMPLE)
def test_killed_once(tmp_path, whole, part, line, when):
    bench = controls.bench(tmp_path)
    said = bench.finish(*[None] * part, Kill(line, when))
    told = f"killed {when} line {line} of process {part + 1}"
    assert said[part].returncode == -signal.SIGKILL, told
    assert all(one.returncode == 0 for one in (*said[:part], *said[part + 1 :])), (
        f"{told}: {said[-1].stdout} {said[-1].stderr}"
    )
    assert_same(bench, whole, told, once=controls.ONCE)


@pytest.mark.parametrize("seed", range(60 if MANY else 1))
def test_killed_again_and_again(tmp_path, whole, seed):
    chance = random.Random(seed)
    bench = controls.bench(tmp_path)
    kills = [Kill(chance.randint(2, 40), chance.choice(["after", "before"])) for _ in range(4)]
    said = bench.finish(*kills)
    told = f"killed {', '.join(map(str, kills))}"
    assert said[-1].returncode == 0, f"{told}: {said[-1].stderr}"
    assert_same(bench, whole, told, once=controls.ONCE)


def test_the_trace_fits_its_schema(whole):
    schema = json.loads(whole.gert("schema", "trace").stdout)
    validator = Draft202012Validator(schema)
    events = whole.lines()
    assert [error.message for event in events for error in validator.iter_errors(event)] == []
    (looked, *_) = [event for event in events if event["type"] == "wait_round"]
    assert not validator.is_valid({**looked, "data": {**looked["data"], "round": "one"}})
