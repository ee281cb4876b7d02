"""Failures that a step type catches: raised again they name the step that failed, and --retry-failed retries them."""

from __future__ import annotations

import pytest
from guarding import Guarding
from lab import Lab, tool

from gert_core.api import RunError
from gert_core.trace.verify import verify

WRITING = tool("once", effects="pushes", writes="registry", idempotent="false")


class SickLab(Lab):
    """A laboratory whose tools fail for the values in ``sick``."""

    sick: frozenset[str] = frozenset()


@pytest.fixture
def lab(tmp_path) -> SickLab:
    made = SickLab(tmp_path)
    made.runner.registry = made.registry_with(Guarding())
    made.on_call = lambda call: call.inputs.update(exit=3) if call.inputs.get("value") in made.sick else None
    return made


def retried(lab, ran, **options):
    """Retry a run, with its calls alone; the trace stays whole."""
    lab.calls.clear()
    again = lab.runner.resume(ran.result.run_id, retry_failed=True, **options)
    verdict = verify(again.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(verdict.status) == "unsigned"
    return again


TRY = """
- id: g
  type: guard
  then: {then}
  steps:
    - {{ id: one, type: tool, tool: lab, inputs: {{ value: one }} }}
    - {{ id: two, type: tool, tool: {tool}, inputs: {{ value: two }} }}
"""
RESCUE = TRY + "  rescue: [ {{ id: undo, type: tool, tool: {tool}, inputs: {{ value: undo }} }} ]\n"


@pytest.mark.parametrize(("then", "failing"), [("own", ["g"]), ("raise", ["g/0/two"])])
def test_a_caught_failure_is_retried_and_what_succeeded_before_it_is_not(lab, then, failing):
    lab.sick = {"two"}
    ran = lab(TRY.format(then=then, tool="lab"))
    assert ran.status == "failed"
    assert ran.of("run_complete")[-1]["failing"] == failing
    lab.sick = set()
    again = retried(lab, ran)
    assert again.status == "completed"
    assert lab.values() == ["two"]
    assert sorted(again.of("run_resumed")[-1]["void"]) == ["g", "g/0/two"]
    assert len(again.of("step_start", "g/0/two")) == 2
    assert again.of("step_attempt", "g/0/two") == []


def test_a_failure_raised_again_is_the_failure_of_the_run(lab):
    lab.sick = {"two"}
    ran = lab(TRY.format(then="raise", tool="lab"))
    ran.assert_failed("exit_code")
    (failure,) = ran.result.failures
    assert (failure.key, failure.step_id) == ("g/0/two", "two")
    assert ran.steps["g"] == "failed"
    assert ran.of("step_complete", "g")[0]["failure"]["message"].startswith("step g/0/two: ")


def test_several_failures_are_raised_again_together(lab):
    lab.sick = {"a", "c"}
    ran = lab(
        """
        - id: s
          type: sides
          sides:
            - [ { id: a, type: tool, tool: lab, scope: a, inputs: { value: a } } ]
            - [ { id: b, type: tool, tool: once, scope: b, inputs: { value: b } } ]
            - [ { id: c, type: tool, tool: lab, scope: c, inputs: { value: c } } ]
        """,
        tools=WRITING,
    )
    assert ran.of("run_complete")[-1]["failing"] == ["s/0/a", "s/2/c"]
    lab.sick = set()
    again = retried(lab, ran)
    assert again.status == "completed"
    assert sorted(lab.values()) == ["a", "c"], "a branch that succeeded beside a failed one is kept"


def test_a_result_that_was_not_caught_cannot_be_raised_again(lab):
    ran = lab("- { id: g, type: guard, then: always_raise, steps: [ { id: one, type: tool, tool: lab } ] }")
    ran.assert_failed("plugin_failed", status="error")
    assert "reraise takes results of blocks that failed and were caught" in ran.result.failures[0].message


@pytest.mark.parametrize("then", ["own", "raise"])
def test_a_retry_after_a_rescue_begins_from_the_start_and_the_rescue_runs_again(lab, then):
    """The rescue may have undone what the steps before the failure did, so their results are worth nothing."""
    lab.sick = {"two"}
    ran = lab(RESCUE.format(then=then, tool="lab"))
    assert lab.values() == ["one", "two", "undo"]
    again = retried(lab, ran)
    assert again.status == "failed"
    assert lab.values() == ["one", "two", "undo"], "what failed again is undone again"
    lab.sick = set()
    assert retried(lab, again).status == "completed"
    assert lab.values() == ["one", "two"]


@pytest.mark.parametrize("then", ["own", "raise"])
def test_what_took_effect_is_repeated_by_decision_only(lab, then):
    lab.sick = {"two"}
    ran = lab(RESCUE.format(then=then, tool="once"), tools=WRITING)
    lab.sick = set()
    with pytest.raises(RunError, match="g/0/two took effect: it writes, is not idempotent and failed") as caught:
        retried(lab, ran)
    assert "g/1/undo would run again: it writes, is not idempotent and succeeded" in caught.value.message
    assert caught.value.kind == "unknown_outcome"
    assert "--reconcile 'g/0/two=done|redo|failed' --reconcile 'g/1/undo=done|redo|failed'" in caught.value.hint
    assert lab.calls == []
    again = retried(lab, ran, reconcile={"g/0/two": "redo", "g/1/undo": "redo"})
    assert again.status == "completed"
    assert lab.values() == ["one", "two"]


def test_a_recorded_result_that_stays_keeps_its_outputs_and_secrets(lab):
    steps = RESCUE.format(then="own", tool="lab").replace(
        "id: one, type: tool, tool: lab, inputs: { value: one }",
        "id: one, type: tool, tool: once, inputs: { value: token-1234 }",
    )
    steps += "- { id: after, type: tool, tool: lab, inputs: { value: 'x{{ .one.value }}' } }\n"
    lab.sick = {"two"}
    told = {"meta": "secrets: [ { env: TOKEN } ]", "environ": {"TOKEN": "token-1234"}}
    ran = lab(steps, tools=WRITING, **told)
    assert ran.status == "failed"
    lab.sick = set()
    again = retried(lab, ran, reconcile={"g/0/one": "done"}, environ=told["environ"])
    assert again.status == "completed"
    assert lab.values() == ["two", "xtoken-1234"]
    assert "token-1234" not in again.result.trace.read_text()


def test_a_failure_that_was_continued_after_is_not_retried(lab):
    lab.sick = {"one", "two"}
    steps = TRY.format(then="own", tool="lab").replace("id: one,", "id: one, continue_on_fail: true,")
    ran = lab(steps)
    lab.sick = set()
    again = retried(lab, ran)
    assert again.status == "completed"
    assert lab.values() == ["two"]
    assert again.steps["g/0/one"] == "failed"


def test_a_handled_failure_stays_handled(lab):
    lab.sick = {"two", "late"}
    steps = RESCUE.format(then="go_on", tool="lab") + "- { id: late, type: tool, tool: lab, inputs: { value: late } }\n"
    ran = lab(steps)
    assert ran.of("run_complete")[-1]["failing"] == ["late"]
    lab.sick = set()
    assert retried(lab, ran).status == "completed"
    assert lab.values() == ["late"]


NESTED = """
- id: outer
  type: guard
  then: own
  steps:
    - id: each
      type: guard
      then: raise
      for_each: { as: host, over: [a, b], key: "{{ .host }}" }
      steps: [ { id: touch, type: tool, tool: lab, inputs: { value: "{{ .host }}" } } ]
"""


def test_failures_caught_at_several_depths_are_retried(lab):
    lab.sick = {"b"}
    ran = lab(NESTED)
    assert ran.of("run_complete")[-1]["failing"] == ["outer"]
    lab.sick = set()
    again = retried(lab, ran)
    assert again.status == "completed"
    assert lab.values() == ["b"]
