"""The assert step: every kind of check, both ways, with sentences that say expected and actual."""

from __future__ import annotations

from typing import Any

import gert_step_assert
import pytest

from gert_core.api import DocumentError
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta:
  name: checks
  inputs: { value: { type: any, default: "200" } }
steps:
  - id: check
    type: assert
    assert:
      - { type: equals, value: "{{ .value }}", expected: 200 }
  - type: finish
"""


class TestAssertConformance(StepTypeConformance):
    plugin = gert_step_assert
    runbook = RUNBOOK


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_assert, finish]))


def book(check: str) -> str:
    return (
        "apiVersion: kernel/v0\nmeta: { name: c, inputs: { v: { type: any } } }\nsteps:\n"
        f"  - id: check\n    type: assert\n    assert: [{check}]\n  - type: finish\n"
    )


CASES: list[tuple[str, Any, Any]] = [
    ('{type: equals, value: "{{ .v }}", expected: "200"}', 200, 500),
    ('{type: equals, value: "{{ .v }}", expected: true}', "true", "yes"),
    ('{type: not_equals, value: "{{ .v }}", expected: 3}', 4, "3"),
    ('{type: contains, value: "{{ .v }}", expected: "ok"}', "it is ok", "no"),
    ('{type: contains, value: "{{ .v }}", expected: 2}', [1, "2"], [3]),
    ('{type: not_contains, value: "{{ .v }}", expected: "bad"}', "fine", "bad day"),
    ('{type: matches, value: "{{ .v }}", pattern: "^a+$"}', "aaa", "ab"),
    ('{type: not_matches, value: "{{ .v }}", pattern: "x"}', "abc", "axc"),
    ('{type: gt, value: "{{ .v }}", expected: 9}', "10", 9),
    ('{type: ge, value: "{{ .v }}", expected: 9}', 9, 8.5),
    ('{type: lt, value: "{{ .v }}", expected: 9}', 8, 9),
    ('{type: le, value: "{{ .v }}", expected: 9}', 9, 10),
    ('{type: in, value: "{{ .v }}", expected: [a, b, 3]}', "3", "c"),
    ('{type: exists, value: "{{ .v }}"}', 0, None),
    ('{type: expression, value: "{{ gt .v 3 }}"}', 4, 3),
]


@pytest.mark.parametrize(("check", "good", "bad"), CASES, ids=[c[0] for c in CASES])
def test_a_check_holds_and_fails(runner: GertRunner, check: str, good: Any, bad: Any) -> None:
    passed = runner(book(check), inputs={"v": good})
    passed.assert_outcome("resolved")
    assert passed.of("step_complete", "check")[0]["fields"] == {"passed": True}
    failed = runner(book(check), inputs={"v": bad})
    failed.assert_failed("assertion")
    assert failed.of("step_complete", "check")[0]["fields"] == {"passed": False}


def test_a_failure_says_expected_and_actual(runner: GertRunner) -> None:
    ran = runner(book('{type: equals, value: "{{ .v }}", expected: "200", message: status}'), inputs={"v": 503})
    assert ran.result.failures[0].message == 'status: expected "200", got 503'
    assert ran.of("step_complete", "check")[0]["detail"]["assertions"] == [
        {"type": "equals", "expected": "200", "actual": 503, "message": 'status: expected "200", got 503'}
    ]


def test_every_failing_check_is_reported(runner: GertRunner) -> None:
    both = '{type: equals, value: "{{ .v }}", expected: 1}, {type: gt, value: "{{ .v }}", expected: 5}'
    ran = runner(book(both), inputs={"v": 2})
    assert ran.result.failures[0].message == "expected 1, got 2; expected greater than 5, got 2"


def test_values_that_cannot_be_ordered_are_an_error(runner: GertRunner) -> None:
    ran = runner(book('{type: gt, value: "{{ .v }}", expected: 1}'), inputs={"v": {"a": 1}})
    ran.assert_failed("assertion", status="error")


def test_a_hostile_pattern_does_not_hang(runner: GertRunner) -> None:
    ran = runner(book('{type: matches, value: "{{ .v }}", pattern: "(a+)+$"}'), inputs={"v": "a" * 500_000 + "b"})
    ran.assert_failed("assertion")


@pytest.mark.parametrize(
    ("pattern", "rule", "says"),
    [
        ("a(?!b)", "pattern-unsupported", "look-around (`(?!` at character 2)"),
        ("(a)\\\\1", "pattern-unsupported", "back-reference"),
        ("(a", "wrong-type", "missing ) at `(a`"),
        ("a{100000}", "wrong-type", "a repetition of more than 1,000"),
    ],
)
def test_a_pattern_that_cannot_be_searched_is_found_by_validation(
    runner: GertRunner, pattern: str, rule: str, says: str
) -> None:
    fine = '{type: exists, value: "{{ .v }}"}'
    for kind in ("matches", "not_matches"):
        with pytest.raises(DocumentError) as caught:
            runner(book(f'{fine}, {{type: {kind}, value: "{{{{ .v }}}}", pattern: "{pattern}"}}'), inputs={"v": "a"})
        (found,) = caught.value.diagnostics
        assert (found.rule, found.path) == (rule, "steps[0].assert[1].pattern")
        assert says in found.message


def test_a_pattern_that_a_template_makes_is_judged_when_the_step_runs(runner: GertRunner) -> None:
    check = '{type: matches, value: "aab", pattern: "({{ .v }}"}'
    runner(book(check), inputs={"v": "^a+b$)"}).assert_outcome("resolved")
    ran = runner(book(check), inputs={"v": "a)(?=b)"})
    ran.assert_failed("assertion", status="error")
    assert "look-around (`(?=` at character 4), which is not supported" in ran.result.failures[0].message
