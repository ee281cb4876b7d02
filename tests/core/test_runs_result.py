"""A result is read from the state of its run; every test of the laboratory holds it against the trace (lab.py)."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core.api import RunStatus, StepProblem
from gert_core.engine.resume.plan import RunFinished
from gert_core.runs.fold import fold
from gert_core.runs.result import RunResult
from gert_core.runs.state import RunState
from gert_core.trace.reader import read


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def test_a_finished_run_gives_the_result_it_gave_when_it_ended(lab):
    ran = lab("- { id: a, type: tool, tool: lab, inputs: { value: 1 } }", tools=tool("other"))
    with pytest.raises(RunFinished) as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.result.to_json() == ran.result.to_json()


def test_all_failures_are_known_with_their_messages_and_errors_come_first(lab):
    def fail(call):
        if call.inputs.get("value") == "down":
            raise StepProblem("down", "not now")

    lab.on_call = fail
    ran = lab("""
        - id: both
          type: parallel
          branches:
            - steps: [ { id: left, type: tool, tool: lab, scope: l, inputs: { exit: 3 } } ]
            - steps: [ { id: right, type: tool, tool: lab, scope: r, inputs: { value: down } } ]
    """)
    assert ran.status == "error"
    assert [(f.key, f.status, f.kind) for f in ran.result.failures] == [
        ("both/1/right", "error", "down"),
        ("both/0/left", "failed", "exit_code"),
    ]
    assert all(f.message for f in ran.result.failures)
    assert ran.result.to_json()["failure"] == ran.result.failures[0].to_json()


def test_a_denied_step_and_a_refused_one_keep_type_and_reason(lab):
    rules = "governance: { rules: [ { effects: [network], action: deny } ] }"
    ran = lab("- { id: a, type: tool, tool: lab }", meta=rules)
    (step,) = ran.result.steps
    assert (step.key, step.type, step.status) == ("a", "tool", "skipped")
    assert [(f.kind, f.status) for f in ran.result.failures] == [("governance_denied", "skipped")]
    asked = "governance: { rules: [ { effects: [network], action: require-approval } ] }"
    ran = lab("- { id: a, type: tool, tool: lab }", meta=asked, answers=["n bob: not today"], approval="stdin")
    (step,) = ran.result.steps
    assert (step.key, step.type, step.status) == ("a", "tool", "skipped")
    assert [f.kind for f in ran.result.failures] == ["approval_rejected"]
    assert "not today" in ran.result.failures[0].message


def test_outputs_and_failures_are_masked_and_variables_are_not(lab):
    meta = "secrets: [ { env: TOKEN } ]"
    steps = """
        - { id: a, type: tool, tool: lab, inputs: { value: "hunter2hunter2" } }
        - { id: b, type: assert, assert: [ { type: equals, value: "{{ .a.value }}", expected: other } ] }
    """
    ran = lab(steps, meta=meta, environ={"TOKEN": "hunter2hunter2"})
    assert ran.result.outputs["value"] == "<REDACTED:TOKEN>"
    assert "<REDACTED:TOKEN>" in ran.result.failures[0].message
    assert "hunter2" not in str(ran.result.to_json())
    assert ran.result.variables.resolve(("value",)) == "hunter2hunter2"


def test_a_state_holds_no_values_of_steps(lab):
    ran = lab("- { id: a, type: tool, tool: lab, scope: s, inputs: { value: needle-in-hay } }")
    assert "needle-in-hay" in ran.result.trace.read_text()
    for state in (ran.result.state, fold(read(ran.result.trace))):
        assert "needle-in-hay" not in repr(state.steps["a"])


def test_open_tickets_are_pending_until_the_run_is_finished(lab):
    asked = "governance: { rules: [ { effects: [network], action: require-approval } ] }"
    ran = lab("- { id: a, type: tool, tool: lab }", meta=asked, approval="inbox")
    (ticket,) = ran.result.pending
    assert set(ticket) == {"ticket_id", "step_id", "step_key", "risk_level", "submitted", "expires_at"}
    assert (ran.result.status, ran.result.finished) == (RunStatus.APPROVAL_PENDING, False)


def test_a_status_that_gert_does_not_know_is_an_error(tmp_path):
    assert RunResult(state=RunState(status="splendid"), trace=tmp_path).status is RunStatus.ERROR
