"""--retry-failed and --reconcile: what may run again, what a person must decide, and what stays as it was."""

from __future__ import annotations

import threading

import pytest
from lab import Lab, tool

from gert_core.api import RunError, UsageError
from gert_core.trace.verify import verify

ONCE = {
    **tool("once", effects="pushes", writes="registry", idempotent="false"),
    **tool("again", effects="tags", writes="tags", idempotent="true"),
}


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


class Patient:
    """A lab whose tool ``lab`` fails for values in ``sick``."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.sick: set = set()

    def start(self, steps, **options):
        self.lab.scripts.update(options.pop("scripts", {}))
        self.ran = self.lab(steps, tools=ONCE, **options)
        return self.ran

    def resume(self, **options):
        self.ran = self.lab.runner.resume(self.ran.result.run_id, **options)
        verdict = verify(self.ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned"
        return self.ran

    def cut_before(self, type, key):  # noqa: A002
        """Lose everything from an event on."""
        at = next(n for n, e in enumerate(self.ran.events) if (e.type, e.step_key) == (type, key))
        lines = self.ran.result.trace.read_bytes().splitlines(keepends=True)
        self.ran.result.trace.write_bytes(b"".join(lines[:at]))


@pytest.fixture
def patient(lab):
    made = Patient(lab)

    def fail(call):
        if str(call.inputs.get("value")) in map(str, made.sick):
            call.inputs["exit"] = 3

    lab.on_call = fail
    return made


def test_a_failed_step_runs_again_with_its_key_and_what_was_done_before_does_not(patient):
    patient.sick = {2}
    ran = patient.start(
        "- { id: a, type: tool, tool: lab, inputs: { value: 1 } }\n- { id: b, type: tool, tool: lab, inputs: { value: 2 } }"
    )
    assert ran.status == "failed"
    patient.sick = set()
    again = patient.resume(retry_failed=True)
    assert again.status == "completed"
    assert patient.lab.values() == [1, 2, 2]
    assert patient.lab.calls[1].key == patient.lab.calls[2].key
    assert again.of("run_resumed")[-1]["void"] == ["b"]
    assert len(again.of("step_start", "b")) == 2
    assert again.of("step_attempt", "b") == [], "it begins at its first attempt"
    assert again.steps["b"] == "success"


def test_a_failed_step_that_writes_and_is_not_idempotent_is_retried_only_by_decision(patient):
    patient.sick = {7}
    patient.start("- { id: w, type: tool, tool: once, inputs: { value: 7 } }")
    with pytest.raises(
        RunError, match="cannot determine whether w took effect: it writes, is not idempotent and failed"
    ) as caught:
        patient.resume(retry_failed=True)
    assert caught.value.kind == "unknown_outcome"
    assert "--retry-failed --reconcile 'w=done|redo|failed'" in caught.value.hint
    assert len(patient.lab.calls) == 1
    patient.sick = set()
    again = patient.resume(retry_failed=True, reconcile={"w": "redo"})
    assert again.status == "completed"
    assert again.of("run_resumed")[-1]["reconciled"] == {"w": "redo"}
    assert len({call.key for call in patient.lab.calls}) == 1


def test_a_failed_step_may_turn_out_to_be_done(patient):
    patient.sick = {7}
    patient.start(
        "- { id: w, type: tool, tool: once, inputs: { value: 7 } }\n- { id: x, type: tool, tool: lab, inputs: { value: '{{ .w.value }}' } }"
    )
    again = patient.resume(retry_failed=True, reconcile={"w": "done"}, outputs={"w": {"value": 41}})
    assert again.status == "completed"
    assert patient.lab.values() == [7, 41]
    (said,) = [e for e in again.events if e.type == "step_complete" and e.data.get("reconciled")]
    assert said.data["reconciled"] == "done"
    assert said.principal["kind"] == "human"
    assert again.steps["w"] == "success"


def test_a_failed_idempotent_step_is_simply_retried(patient):
    patient.sick = {7}
    patient.start("- { id: w, type: tool, tool: again, inputs: { value: 7 } }")
    patient.sick = set()
    assert patient.resume(retry_failed=True).status == "completed"


NESTED = """
- id: outer
  type: parallel
  branches:
    - steps:
        - id: loop
          type: repeat
          repeat: { max: 2 }
          steps: [ { id: turn, type: tool, tool: lab, inputs: { value: "t{{ .repeat.index }}" } } ]
    - steps: [ { id: good, type: tool, tool: lab, scope: good, inputs: { value: good } } ]
    - steps: [ { id: bad, type: tool, tool: lab, scope: bad, inputs: { value: bad } } ]
- { id: after, type: tool, tool: lab, inputs: { value: after } }
"""


def test_several_failing_steps_deep_inside_run_again_and_nothing_else(patient):
    patient.sick = {"t1", "bad"}
    ran = patient.start(NESTED)
    assert ran.status == "failed"
    assert ran.of("run_complete")[0]["failing"] == ["outer/0/loop/1/turn", "outer/2/bad"]
    before = len(patient.lab.calls)
    patient.sick = {"bad"}
    again = patient.resume(retry_failed=True)
    assert again.of("run_resumed")[-1]["void"] == ["outer/0/loop/1/turn", "outer/0/loop", "outer", "outer/2/bad"]
    assert sorted(patient.lab.values()[before:]) == ["bad", "t1"]
    assert again.of("run_complete")[-1]["failing"] == ["outer/2/bad"]
    patient.sick = set()
    before = len(patient.lab.calls)
    assert patient.resume(retry_failed=True).status == "completed"
    assert patient.lab.values()[before:] == ["bad", "after"]
    assert len(patient.ran.of("step_start", "outer/2/bad")) == 3


def test_a_crash_in_the_middle_of_a_retry_goes_on_with_the_retry(patient):
    patient.sick = {"bad"}
    patient.start(NESTED)
    patient.sick = set()
    done = patient.resume(retry_failed=True)
    lines = done.result.trace.read_bytes().splitlines(keepends=True)
    first = next(n for n, e in enumerate(done.events) if e.type == "run_resumed") + 1
    for count in range(first, len(lines)):
        done.result.trace.write_bytes(b"".join(lines[:count]))
        again = patient.resume()
        assert (again.status, again.steps) == (done.status, done.steps), count


@pytest.mark.parametrize("parallel", ["true", "false"])
def test_failed_items_of_a_loop_run_again_alone(patient, parallel):
    patient.sick = {2, 3} if parallel == "true" else {2}
    patient.start(
        f"- {{ id: each, type: tool, tool: lab, for_each: {{ as: n, over: [1, 2, 3], parallel: {parallel} }}, inputs: {{ value: '{{{{ .n }}}}' }} }}\n"
        "- { id: sum, type: tool, tool: lab, inputs: { value: '{{ .each }}' } }"
    )
    before = len(patient.lab.calls)
    patient.sick = set()
    assert patient.resume(retry_failed=True).status == "completed"
    assert sorted(map(str, patient.lab.values()[before:-1])) == ["2", "3"]
    assert patient.lab.values()[-1] == [{"value": 1}, {"value": 2}, {"value": 3}]


def test_a_failure_that_was_allowed_is_not_retried(patient):
    patient.sick = {"soft", "hard"}
    patient.start(
        "- { id: soft, type: tool, tool: lab, continue_on_fail: true, inputs: { value: soft } }\n"
        "- { id: hard, type: tool, tool: lab, inputs: { value: hard } }"
    )
    patient.sick = {"soft"}
    again = patient.resume(retry_failed=True)
    assert again.status == "completed"
    assert patient.lab.values() == ["soft", "hard", "hard"]
    assert again.steps["soft"] == "failed"


def test_after_a_retry_that_fails_again_it_may_be_tried_once_more(patient):
    patient.sick = {1}
    patient.start("- { id: a, type: tool, tool: lab, inputs: { value: 1 } }")
    for starts in (2, 3):
        again = patient.resume(retry_failed=True)
        assert again.status == "failed"
        assert len(again.of("step_start", "a")) == starts
    patient.sick = set()
    assert patient.resume(retry_failed=True).status == "completed"
    assert len({call.key for call in patient.lab.calls}) == 1


def test_a_jump_is_retried_where_it_failed(patient):
    steps = "- { id: a, type: tool, tool: lab, inputs: { value: 'v{{ .a.retry_count }}' }, next: { step: a, max: 2 } }"
    patient.sick = {"v1"}
    patient.start(steps)
    patient.sick = set()
    assert patient.resume(retry_failed=True).status == "completed"
    assert patient.lab.values() == ["v0", "v1", "v1", "v2"]


def test_a_denied_step_is_denied_again_while_the_policy_stands(patient):
    meta = "governance: { rules: [ { writes: [registry], action: deny } ] }"
    ran = patient.start("- { id: w, type: tool, tool: once, inputs: { value: 1 } }", meta=meta)
    ran.assert_failed("governance_denied")
    again = patient.resume(retry_failed=True)
    again.assert_failed("governance_denied")
    assert again.result.failures[0].message == ran.result.failures[0].message
    assert patient.lab.calls == []


def test_a_denial_written_down_before_a_crash_keeps_its_reason(patient):
    meta = "governance: { rules: [ { writes: [registry], action: deny } ] }"
    ran = patient.start("- { id: w, type: tool, tool: once, inputs: { value: 1 } }", meta=meta)
    patient.cut_before("run_complete", None)
    again = patient.resume()
    assert again.result.failures == ran.result.failures


# -- reconcile ---------------------------------------------------------------------------------------------------------

TWO = """
- id: both
  type: parallel
  branches:
    - steps: [ { id: p, type: tool, tool: once, scope: p, inputs: { value: 1 } } ]
    - steps: [ { id: q, type: tool, tool: more, scope: q, inputs: { value: 2 } } ]
- { id: sum, type: tool, tool: lab, inputs: { value: "{{ .p.value | default 0 }} {{ .q.value | default 0 }}" } }
"""


@pytest.fixture
def cut(lab):
    """A run in which two steps that write were interrupted at the same time."""
    made = Patient(lab)
    both = threading.Barrier(2)  # neither ends before both have begun
    lab.on_call = lambda call: both.wait(20) if call.tool != "lab" else None
    made.ran = lab(TWO, tools={**ONCE, **tool("more", effects="mails", writes="mail", idempotent="false")})
    assert made.ran.status == "completed"
    lab.on_call = None
    lines = made.ran.result.trace.read_bytes().splitlines(keepends=True)
    keep = next(n for n, e in enumerate(made.ran.events) if e.type == "step_complete")
    made.ran.result.trace.write_bytes(b"".join(lines[:keep]))
    lab.calls.clear()
    return made


def test_unknown_outcomes_are_reported_together_before_anything_runs(cut):
    with pytest.raises(RunError, match="whether both/0/p, both/1/q took effect") as caught:
        cut.resume()
    assert "--reconcile 'both/0/p=done|redo|failed' --reconcile 'both/1/q=done|redo|failed'" in caught.value.hint
    with pytest.raises(RunError, match="whether both/1/q took effect"):
        cut.resume(reconcile={"both/0/p": "redo"})
    assert cut.lab.calls == []


def test_each_is_done_or_redone_as_people_say(cut):
    ran = cut.resume(reconcile={"both/0/p": "done", "both/1/q": "redo"}, outputs={"both/0/p": {"value": 10}})
    assert ran.status == "completed"
    assert cut.lab.values() == [2, "10 2"]
    assert ran.of("step_attempt", "both/1/q")[0]["attempt"] == 2
    assert ran.of("step_attempt", "both/0/p") == []


def test_one_that_is_found_to_have_failed_fails_the_run(cut):
    ran = cut.resume(reconcile={"both/0/p": "failed", "both/1/q": "done"})
    assert ran.status == "failed"
    assert [(f.key, f.kind) for f in ran.result.failures] == [("both/0/p", "reconciled")]
    assert cut.lab.calls == []
    assert ran.of("run_resumed")[-1]["reconciled"] == {"both/0/p": "failed", "both/1/q": "done"}


@pytest.mark.parametrize(
    ("reconcile", "outputs", "words"),
    [
        ({"both/0/x": "done"}, {}, "whose outcome is not unknown"),
        ({"both/0/p": "perhaps"}, {}, "takes done, redo, failed"),
        ({"both/0/p": "redo", "both/1/q": "redo"}, {"both/0/p": {}}, "are for steps reconciled as done"),
        ({"both/0/p": "done", "both/1/q": "redo"}, {"both/0/p": {"nope": 1}}, "which both/0/p does not declare"),
    ],
)
def test_what_is_not_sensible_is_refused(cut, reconcile, outputs, words):
    with pytest.raises(UsageError, match=words):
        cut.resume(reconcile=reconcile, outputs=outputs)
    assert cut.lab.calls == []


def test_what_an_interrupted_attempt_said_is_not_held_against_the_next(lab):
    """An unfinished leaf keeps its events up to step_start; violations of the lost attempt may come out otherwise."""
    lab.scripts["s"] = [{"value": 1, "odd": 1}, {"value": 1, "strange": 1}]
    ran = lab("- { id: a, type: tool, tool: lab, inputs: { script: s } }")
    assert len(ran.of("contract_violation")) == 1
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    at = next(n for n, e in enumerate(ran.events) if e.type == "step_complete")
    ran.result.trace.write_bytes(b"".join(lines[:at]))
    again = lab.runner.resume(ran.result.run_id)
    assert again.status == "completed"
    assert [("odd" in v["message"], "strange" in v["message"]) for v in again.of("contract_violation")] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    "options", ["when: '{{ eq 1 2 }}'", "continue_on_fail: true, scope: '{{ .nothing.here | default \"\" }}'"]
)
def test_a_step_that_did_not_act_leaves_no_doubt_when_it_was_cut_off(lab, options):
    ran = lab(f"- {{ id: w, type: tool, tool: once, inputs: {{ value: 1 }}, {options} }}", tools=ONCE)
    assert lab.calls == []
    at = next(n for n, e in enumerate(ran.events) if e.type == "step_start" and e.step_key == "w")
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    ran.result.trace.write_bytes(b"".join(lines[: at + 1]))
    again = lab.runner.resume(ran.result.run_id)
    assert (again.status, again.steps) == (ran.status, ran.steps)
    assert again.of("step_attempt") == []
