"""Every kind of expectation, held and not held."""

from __future__ import annotations

import pytest

from gert_core.api import Outcome
from gert_core.documents.scenario import ExpectationModel
from gert_core.scenarios import Observed, Visits, check_expectations
from gert_core.scenarios.expect import same, unknown_steps
from gert_core.scenarios.names import step_id_of
from gert_core.template import MappingVariables

VARIABLES = {
    "status_code": 200,
    "ok": True,
    "nothing": None,
    "empty": "",
    "names": ["a", "b"],
    "check": {"body": "ok, fine", "nested": {"list": [{"x": 1.5}]}},
    "path": "/etc/hosts/",
}


def visits():
    found = Visits()
    for key, step_id, status in (
        ("check", "check", "success"),
        ("judge", "judge", "failed"),
        ("broken", "broken", "error"),
        ("guarded", "guarded", "skipped"),
        ("triage", "triage", None),
        ("triage/1/restart", "restart", "success"),
        ("triage/1/restart#2", "restart", "success"),
        ("triage/1/ask", "ask", "approval_pending"),
    ):
        found.note(key, step_id, status=status)
    found.note("each", "each", loop=True)
    for number, (label, status) in enumerate((("web-1", "success"), ("web-2", "skipped"), ("7", "success"))):
        found.note(f"each[{label}]", "each", item=number, status=status)
    found.note("each", "each", status="success")
    found.note("none", "none", loop=True, status="success")
    return found


STEP_IDS = {"check", "judge", "broken", "guarded", "triage", "restart", "ask", "each", "none", "never"}


def observed(**changes):
    facts = {
        "status": "completed",
        "outcome": Outcome(category="resolved", code="dns_fixed"),
        "visits": visits(),
        "variables": MappingVariables(VARIABLES),
        "step_ids": STEP_IDS,
    }
    return Observed(**facts | changes)


def judged(test, **changes):
    return check_expectations(ExpectationModel.model_validate(test), observed(**changes))


@pytest.mark.parametrize(
    ("test", "passed"),
    [
        ({"expected_status": "completed"}, True),
        ({"expected_status": "failed"}, False),
        ({"expected_outcome": "resolved"}, True),
        ({"expected_outcome": "escalated"}, False),
        ({"expected_code": "dns_fixed"}, True),
        ({"expected_code": "dns"}, False),
        *(
            ({"must_reach": [name]}, True)
            for name in (
                "check",
                "judge",
                "broken",
                "triage",
                "restart",
                "triage/1/restart",
                "triage/1/restart#2",
                "each",
                "each[0]",
                "each[2]",
                "each[web-1]",
            )
        ),
        *(
            ({"must_reach": [name]}, False)
            for name in ("guarded", "ask", "never", "nowhere", "each[1]", "each[3]", "each[web-2]", "each[7]", "none")
        ),
        *(({"must_not_reach": [name]}, True) for name in ("guarded", "ask", "never", "each[1]", "each[7]", "none")),
        *(({"must_not_reach": [name]}, False) for name in ("check", "broken", "restart", "each", "each[0]")),
        *(
            ({"expected_outputs": {path: expected}}, True)
            for path, expected in (
                ("status_code", "200"),
                ("status_code", 200),
                (".status_code", "200"),
                ("ok", "true"),
                ("ok", True),
                ("nothing", None),
                ("nothing", ""),
                ("empty", ""),
                ("names", ["a", "b"]),
                ("names.1", "b"),
                ("names", '["a","b"]'),
                ("check.body", "ok, fine"),
                ("check.body", "/ok.*/"),
                ("check.body", "/^ok/"),
                ("check.body", "/fine$/"),
                ("status_code", r"/^\d+$/"),
                ("check.nested", {"list": [{"x": "1.5"}]}),
                ("check.nested.list.0.x", 1.5),
                ("path", "//etc/hosts//"),
                ("{{ len .names }}", 2),
            )
        ),
        *(
            ({"expected_outputs": {path: expected}}, False)
            for path, expected in (
                ("status_code", "20"),
                ("status_code", "201"),
                ("ok", "false"),
                ("ok", 1),
                ("empty", None),
                ("status_code", None),
                ("names", ["b", "a"]),
                ("names", ["a"]),
                ("names", {"0": "a"}),
                ("check.body", "ok"),
                ("check.body", "/^fine/"),
                ("check.nested", {"list": []}),
                ("check.nested", {"list": [{"x": "1.5"}], "more": 1}),
                ("statuscode", "200"),
                ("check.nope", ""),
                ("{{ len", 2),
                ("a b c", 2),
            )
        ),
    ],
    ids=str,
)
def test_an_expectation_holds_or_not(test, passed):
    (found,) = judged(test)
    assert found.passed is passed
    assert bool(found.message) is not passed
    assert found.type == next(iter(test))


def test_assertions_come_in_the_order_of_the_document_with_their_facts():
    test = {
        "expected_outputs": {"status_code": "200"},
        "must_not_reach": ["never"],
        "must_reach": ["check", "each[0]"],
        "expected_code": "x",
        "expected_outcome": "resolved",
        "expected_status": "completed",
    }
    assert [(f.type, f.key, f.expected, f.actual, f.passed) for f in judged(test)] == [
        ("expected_status", None, "completed", "completed", True),
        ("expected_outcome", None, "resolved", "resolved", True),
        ("expected_code", None, "x", "dns_fixed", False),
        ("must_reach", "check", "reached", "reached", True),
        ("must_reach", "each[0]", "reached", "reached", True),
        ("must_not_reach", "never", "not reached", "not reached", True),
        ("expected_outputs", "status_code", "200", 200, True),
    ]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"expected_status": "failed"}, 'expected "failed", got "completed"'),
        ({"must_reach": ["guarded"]}, "expected step guarded to be reached, but it was skipped"),
        ({"must_reach": ["never"]}, "expected step never to be reached, but it was not reached"),
        ({"must_reach": ["ask"]}, "expected step ask to be reached, but it was not reached: approval_pending"),
        ({"must_reach": ["chekc"]}, "but it is not a step of this runbook; did you mean 'check'?"),
        ({"must_not_reach": ["check"]}, "expected step check not to be reached, but it was reached"),
        ({"expected_outputs": {"status_code": "201"}}, 'expected "201", got 200'),
        ({"expected_outputs": {"check.body": "/no/"}}, 'expected a string that matches "/no/", got "ok, fine"'),
        ({"expected_outputs": {"status_cod": 1}}, "`.status_cod` is not defined; did you mean `.status_code`?"),
    ],
    ids=str,
)
def test_a_failing_assertion_says_expected_and_actual(test, said):
    assert said in judged(test)[0].message


def test_a_run_without_an_outcome_says_why():
    for test in ({"expected_outcome": "resolved"}, {"expected_code": "x"}, {"expected_status": "completed"}):
        (found,) = judged(test, outcome=None, status="error", failure="step check: no answer, scenario_miss")
        assert not found.passed
        assert "step check: no answer, scenario_miss" in found.message
    (found,) = judged({"expected_outcome": "resolved"}, outcome=None, status="failed")
    assert found.actual is None
    assert "no outcome: the run is failed" in found.message


def test_nothing_expected_is_nothing_asserted():
    assert judged({"description": "x", "tags": ["y"], "golden": True}) == ()


def test_long_values_are_shortened_in_messages():
    variables = MappingVariables({"big": "x" * 10_000})
    (found,) = judged({"expected_outputs": {"big": "y"}}, variables=variables)
    assert len(found.message) < 500
    assert len(found.actual) == 10_000


def test_steps_that_must_not_be_reached_and_do_not_exist_are_told():
    test = ExpectationModel.model_validate({"must_not_reach": ["never", "restar", "each[5]", "triage/1/restart#9"]})
    (told,) = unknown_steps(test, STEP_IDS)
    assert "'restar'" in told
    assert "did you mean 'restart'?" in told


@pytest.mark.parametrize(
    ("name", "step_id"),
    [("a", "a"), ("a[0]", "a"), ("t/1/a#2", "a"), ("t/1/a#2[x]", "a"), ("t[b]/a", "a"), ("a[x%2Fy#1]", "a")],
)
def test_the_id_in_a_name(name, step_id):
    assert step_id_of(name) == step_id


def test_numbers_and_booleans_are_not_mixed_up():
    assert not same(1, True)
    assert not same(0, False)
    assert not same([1], [True])
    assert same({"a": 1}, {"a": "1"})
