"""How far a run is, and the word of its lifecycle: functions of its state alone."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gert_core.api import RunStatus, TraceEvent
from gert_core.runs.fold import Fold, fold
from gert_core.runs.lifecycle.progress import RunProgress, progress_of
from gert_core.runs.lifecycle.status import resume_point_of, waiting_for
from gert_core.runs.lifecycle.stream import each_progress
from gert_core.runs.lifecycle.words import LIFECYCLE, lifecycle

EXAMPLES = settings(
    max_examples=5_000 if os.environ.get("GERT_FUZZ") else 100,
    derandomize=not os.environ.get("GERT_FUZZ"),
    deadline=None,
    database=None,
)
STAGES = ["a", "b", "c"]


def event(seq: int, kind: str, key: str | None = None, **data: Any) -> TraceEvent:
    return TraceEvent(
        type=kind,
        timestamp="2026-01-02T00:00:00.000000Z",
        run_id="r",
        seq=seq,
        prev_hash="",
        data=data,
        step_key=key,
    )


def tape(*parts: tuple[Any, ...], stages: list[str] | None = STAGES) -> list[TraceEvent]:
    """Events from ("start", key), ("done", key), ("failed", key), ("units", states) and ("end", status)."""
    found = [event(1, "run_start", runbook="b", **({} if stages is None else {"stages": stages}))]
    for word, *given_ in parts:
        seq = len(found) + 1
        if word == "start":
            found.append(event(seq, "step_start", given_[0], step_id=_id(given_[0]), type="t"))
        elif word in ("done", "failed"):
            status = "success" if word == "done" else "failed"
            found.append(event(seq, "step_complete", given_[0], step_id=_id(given_[0]), status=status))
        elif word == "units":
            units = [{"id": f"u{number}", "state": state} for number, state in enumerate(given_[0])]
            found.append(event(seq, "run_summary", "a", summary_type="task_progress", payload={"units": units}))
        else:
            found.append(event(seq, "run_complete", status=given_[0]))
    return found


def _id(key: str) -> str:
    return key.rpartition("/")[2].partition("#")[0].partition("[")[0]


def after(*parts: tuple[Any, ...], stages: list[str] | None = STAGES) -> RunProgress:
    return progress_of(fold(tape(*parts, stages=stages)))


def test_life_progress_33_is_one_unit_of_three_and_rounds_down():
    found = after(("start", "a"), ("units", ["done", "in_progress", "pending"]))
    assert found.to_json() == {
        "status": "running",
        "percent": 33,
        "current_stage": "u1",
        "completed_stages": ["u0"],
        "eta_seconds": None,
    }
    assert after(("units", ["done", "done", "failed"])).percent == 66
    assert after(("units", ["done", "done", "failed"])).current_stage == "u2"


@pytest.mark.parametrize("parts", [[], [("units", ["done", "pending"])], [("start", "a"), ("done", "a")]])
def test_life_progress_100_is_a_completed_run_whatever_was_counted(parts):
    found = after(*parts, ("end", "completed"))
    assert (found.status, found.percent, found.eta_seconds, found.current_stage) == ("completed", 100, 0, None)


def test_life_progress_fallback_counts_the_steps_of_the_runbook():
    assert after() == RunProgress(status="running", percent=0)
    assert after(("start", "a")) == RunProgress(status="running", percent=0, current_stage="a")
    inside = after(("start", "a"), ("start", "a/0/x"), ("done", "a/0/x"), ("start", "a[1]"), ("done", "a[1]"))
    assert inside == after(("start", "a"))
    between = after(("start", "a"), ("done", "a"))
    assert (between.percent, between.current_stage, between.completed_stages) == (33, "a", ("a",))
    every = [(word, key) for key in STAGES for word in ("start", "done")]
    assert after(*every).percent == 99, "the run is not over"
    again = after(("start", "a"), ("done", "a"), ("start", "a#2"))
    assert (again.percent, again.current_stage, again.completed_stages) == (33, "a", ("a",))
    assert after(("start", "a"), ("done", "a"), stages=None).percent == 0, "nobody knows how many there are"


@pytest.mark.parametrize(("status", "word"), [("failed", "failed"), ("error", "failed"), ("cancelled", "cancelled")])
def test_life_progress_failed_keeps_the_percent(status, word):
    by_steps = after(("start", "a"), ("done", "a"), ("start", "b"), ("failed", "b"), ("end", status))
    assert (by_steps.status, by_steps.percent, by_steps.eta_seconds) == (word, 33, None)
    assert by_steps.current_stage == "b"
    by_units = after(("units", ["done", "failed"]), ("end", status))
    assert (by_units.status, by_units.percent) == (word, 50)


@pytest.mark.parametrize(
    "payload",
    [None, {}, {"units": []}, {"units": 3}, {"units": [{"id": "x", "state": "odd"}]}, {"units": [{"state": "done"}]}],
)
def test_what_is_not_a_list_of_units_is_as_if_there_were_none(payload):
    events = tape(("start", "a"), ("done", "a"))
    events.append(event(4, "run_summary", "a", summary_type="task_progress", payload=payload))
    assert progress_of(fold(events)) == after(("start", "a"), ("done", "a"))


@pytest.mark.parametrize("status", ["approval_pending", "answer_pending", "blocked"])
def test_a_paused_run_is_running_and_a_queued_one_is_queued(status):
    assert progress_of(fold([*tape(), event(2, "run_suspended", status=status)])).status == "running"
    assert progress_of(fold([*tape(), event(2, "run_suspended", status="queued")])).status == "queued"


keys = st.sampled_from(["a", "b", "c", "a#2", "b#2", "a/0/x", "b[1]", "@finally/z"])
parts = st.one_of(
    st.tuples(st.just("start"), keys),
    st.tuples(st.just("done"), keys),
    st.tuples(st.just("failed"), keys),
)
units = st.lists(st.sampled_from(["pending", "in_progress", "done", "failed"]), min_size=1, max_size=8)


@EXAMPLES
@given(st.lists(parts, max_size=25), st.sampled_from(["completed", "failed", "error", "cancelled"]))
def test_the_percent_of_steps_never_falls_and_reaches_100_only_with_the_end(found, status):
    once = [part for number, part in enumerate(found) if part[0] == "start" or part[1] not in _ended(found[:number])]
    events, folding, before = tape(*once, ("end", status)), Fold(), 0
    for one in events:
        folding.feed(one)
        now = progress_of(folding.state)
        assert before <= now.percent <= 100
        assert (now.percent == 100) == (now.status == "completed") == (now.eta_seconds == 0)
        assert len(set(now.completed_stages)) == len(now.completed_stages)
        before = now.percent


def _ended(found: list[tuple[str, str]]) -> set[str]:
    return {key for word, key in found if word != "start"}


@EXAMPLES
@given(units)
def test_the_percent_of_units_grows_with_every_unit_that_is_done(states):
    percents = [after(("units", states)).percent]
    for position, state in enumerate(states):
        if state != "done":
            states = [*states[:position], "done", *states[position + 1 :]]
            percents.append(after(("units", states)).percent)
    assert percents == sorted(set(percents)), "each unit counts"
    assert percents[-1] == 100


@EXAMPLES
@given(st.lists(st.one_of(parts, st.tuples(st.just("units"), units)), max_size=20))
def test_the_stream_has_every_value_and_no_value_twice_in_a_row(found):
    events, folding = tape(*found, ("end", "failed")), Fold()
    every = []
    for one in events:
        folding.feed(one)
        now = progress_of(folding.state)
        if not every or every[-1] != now:
            every.append(now)
    assert list(each_progress(events)) == every


def test_every_status_of_a_run_has_a_word():
    assert set(LIFECYCLE) == {*map(str, RunStatus), "interrupted"}
    words = {status: lifecycle(status) for status in LIFECYCLE}
    assert [s for s, word in words.items() if word == "active"] == ["running", "queued", "interrupted"]
    assert [s for s, word in words.items() if word == "paused"] == ["approval_pending", "answer_pending", "blocked"]
    assert [s for s, word in words.items() if word == "failed"] == ["failed", "error", "cancelled"]
    assert lifecycle("completed") == "completed"
    assert lifecycle("unreadable") is None


def test_where_a_run_would_go_on_and_what_it_waits_for():
    writes = {"effects": ["k8s"], "writes": ["x"], "writing": True, "idempotent": False}
    events = [
        *tape(("start", "a"), ("done", "a")),
        event(4, "approval_submitted", "b", ticket_id="t1", step_id="b"),
        event(5, "step_start", "c", step_id="c", type="t", contract_summary=writes, idempotency_key="i"),
    ]
    state = fold(events)
    assert [one.to_json() for one in waiting_for(state)] == [
        {"kind": "reconcile", "key": "c"},
        {"kind": "approval", "key": "b"},
    ]
    assert [str(one) for one in waiting_for(state, live=True)] == ["approval:b"]
    point = resume_point_of(state).to_json()
    assert (point["last_seq"], point["last_step_key"], point["needs"], point["steps"]) == (5, "c", "reconcile", ["c"])
    assert resume_point_of(state, live=True).needs is None
    over = resume_point_of(fold(tape(("start", "a"), ("done", "a"), ("end", "completed"))))
    assert (over.last_seq, over.last_step_key, over.needs, over.blocked_on) == (4, "a", None, ())
