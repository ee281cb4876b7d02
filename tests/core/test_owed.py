"""What a run owes is a fold: what it waits for or how it ended, by the rules that it began with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from gert_core.runs.holds import Hold
from gert_core.runs.owed import owed_by
from gert_core.runs.state import RunState, StepQuestions, StepState

NOW = datetime(2026, 2, 28, 14, 30, tzinfo=UTC)
ALL = [
    *("resolved", "escalated", "no_action", "needs_rca", "failed", "error", "cancelled"),
    *("approval_pending", "answer_pending", "blocked", "interrupted", "expired"),
]


def at(seconds):
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def rule(*on, **more):
    return {"on": list(on), "notifier": "webhook", "source": "/p.yaml#notify/0/webhook", "sha256": "0" * 64, **more}


def info(state, *, live=False, moved=None):
    return SimpleNamespace(state=state, live=live, moved=moved, run_id="r1")


def run_state(rules=None, **fields):
    facts = {"mode": "real", "notify": [rule(*ALL)] if rules is None else rules}
    return RunState(run_id="r1", facts=facts, updated=at(-600), seq=9, **fields)


def ended(status, outcome=None, **fields):
    return run_state(status=status, outcome=outcome, finished=at(-600), **fields)


TICKET = {"step_key": "act", "submitted": at(-600), "expires_at": at(600)}


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (ended("completed", {"category": "escalated", "code": "x"}), "escalated"),
        (ended("completed", {"category": "no_action", "code": None}), "no_action"),
        (ended("failed"), "failed"),
        (ended("error"), "error"),
        (ended("cancelled"), "cancelled"),
        (run_state(status="approval_pending", tickets={"t-1": TICKET}), "approval_pending"),
        (run_state(status="approval_pending", tickets={"t-1": {**TICKET, "expires_at": at(-1)}}), "expired"),
        (
            run_state(
                status="answer_pending",
                steps={"ask": StepState(key="ask")},
                questions={"ask": StepQuestions(since=5, open={"notes": {"asked": at(-600), "name": "notes"}})},
            ),
            "answer_pending",
        ),
        (run_state(status="blocked", holds=[Hold(key="freeze", since=at(-600), seq=4)]), "blocked"),
        (run_state(status="running"), "interrupted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_thing_is_owed_once_and_only_by_a_rule_about_it(state, event):
    (one,) = owed_by(info(state), NOW)
    assert one.event == event
    assert owed_by(info(state), NOW) == [one]
    state.facts["notify"] = [rule(*(word for word in ALL if word != event))]
    assert owed_by(info(state), NOW) == []


def test_a_run_that_is_executed_or_was_just_now_is_not_interrupted():
    state = run_state(status="running")
    assert owed_by(info(state, live=True), NOW) == []
    state.updated = at(-59)
    assert owed_by(info(state), NOW) == []
    state.updated = at(-61)
    assert [one.event for one in owed_by(info(state), NOW)] == ["interrupted"]


def test_nothing_is_owed_by_other_modes_moved_runs_and_runs_without_rules():
    state = ended("failed")
    assert owed_by(info(state, moved=SimpleNamespace()), NOW) == []
    state.facts["mode"] = "probe"
    assert owed_by(info(state), NOW) == []
    assert owed_by(info(ended("failed", rules=[])), NOW) == []
    assert owed_by(info(None), NOW) == []


def test_a_question_that_was_answered_and_a_step_that_is_over_are_not_owed():
    questions = {"ask": StepQuestions(since=5)}
    state = run_state(status="answer_pending", steps={"ask": StepState(key="ask")}, questions=questions)
    assert owed_by(info(state), NOW) == []
    questions["ask"].open["notes"] = {"asked": at(-600)}
    state.steps["ask"].ended = 8
    assert owed_by(info(state), NOW) == []


def test_ids_differ_by_run_rule_event_and_occasion_and_by_nothing_else():
    state = ended("failed", rules=[rule("failed"), rule("failed", source="/p.yaml#notify/1/webhook")])
    ids = [one.id for one in owed_by(info(state), NOW)]
    assert len(set(ids)) == 2
    assert [one.id for one in owed_by(info(state), NOW + timedelta(days=3))] == ids
    state.seq = 20  # it was resumed and failed again
    again = [one.id for one in owed_by(info(state), NOW)]
    state.run_id = "r2"
    assert len({*ids, *again, *(one.id for one in owed_by(info(state), NOW))}) == 6


@pytest.mark.parametrize(("remind", "number"), [(None, 1), (1200.0, 1), (600.0, 2), (200.0, 2)])
def test_of_reminders_only_the_last_one_is_owed(remind, number):
    rules = [rule("approval_pending", **({} if remind is None else {"remind": remind}))]
    state = run_state(status="approval_pending", tickets={"t-1": TICKET}, rules=rules)
    found = owed_by(info(state), NOW)
    assert len({one.id for one in found}) == number
    later = owed_by(info(state), NOW + timedelta(seconds=100))
    assert [one.id for one in later] == [one.id for one in found]


def test_ends_are_not_reminded_of():
    assert len(owed_by(info(ended("failed", rules=[rule("failed", remind=1.0)])), NOW)) == 1
