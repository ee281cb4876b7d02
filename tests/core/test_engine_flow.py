"""Which step comes next: when, next and its bounds, continue_on_fail, branches, outcomes."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core.api import DocumentError
from gert_core.documents.load import load_runbook
from gert_core.engine.steps.compiled import CompiledRunbook


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


# -- when ------------------------------------------------------------------------------------------------------------


def test_a_false_when_leaves_a_start_and_a_skipped_complete_with_its_reason(lab):
    ran = lab("- { id: a, type: tool, tool: lab, when: false }")
    assert [e.type for e in ran.events if e.step_key == "a"] == ["step_start", "step_complete"]
    assert ran.of("step_complete", "a")[0] | {"duration": ""} == {
        "step_id": "a",
        "status": "skipped",
        "reason": "when",
        "duration": "",
    }
    assert lab.calls == []


def test_a_skipped_step_does_not_take_its_next(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, when: false, next: c }
        - { id: b, type: tool, tool: lab }
        - { id: c, type: tool, tool: lab }
    """)
    assert list(ran.steps) == ["a", "b", "c", "done"]


def test_a_skipped_step_shows_its_status_and_a_retry_count_of_0(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, when: false }
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .a.status }} {{ .a.retry_count }}" } }
    """)
    assert ran.status == "completed"
    assert lab.values() == ["skipped 0"]


def test_an_undefined_name_in_when_is_an_error_of_the_step(lab):
    ran = lab(
        """
        - { id: a, type: tool, tool: lab, when: "{{ .given.deep }}" }
        """,
        meta="inputs: { given: { type: object } }",
        inputs={"given": {"other": 1}},
    )
    ran.assert_failed("template", status="error")
    assert lab.calls == []


# -- next ------------------------------------------------------------------------------------------------------------


def test_next_jumps_forward_after_success(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, next: c }
        - { id: b, type: tool, tool: lab }
        - { id: c, type: tool, tool: lab }
    """)
    assert list(ran.steps) == ["a", "c", "done"]


def test_next_is_not_taken_after_failure(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, inputs: { exit: 1 }, next: c }
        - { id: b, type: tool, tool: lab }
        - { id: c, type: tool, tool: lab }
    """)
    assert ran.steps == {"a": "failed"}
    ran.assert_failed("exit_code")


def test_next_is_taken_after_failure_with_continue_on_fail(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, inputs: { exit: 1 }, next: c, continue_on_fail: true }
        - { id: b, type: tool, tool: lab }
        - { id: c, type: tool, tool: lab }
    """)
    assert list(ran.steps) == ["a", "c", "done"]


def test_a_backward_jump_is_taken_max_times_then_flow_falls_through(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, inputs: { value: "{{ .a.retry_count }}" } }
        - { id: b, type: tool, tool: lab, inputs: { value: b }, next: { step: a, max: 2 } }
    """)
    assert list(ran.steps) == ["a", "b", "a#2", "b#2", "a#3", "b#3", "done"]
    assert lab.values() == [0, "b", 1, "b", 2, "b"]


def test_max_may_be_a_template_and_may_be_numeric_text(lab):
    for given in (1, "1"):
        ran = lab(
            '- { id: a, type: tool, tool: lab, next: { step: a, max: "{{ .most }}" } }',
            meta=f"constants: {{ most: {given!r} }}",
        )
        assert list(ran.steps) == ["a", "a#2", "done"], given


def test_a_max_that_is_no_number_is_an_error_before_the_jump(lab):
    ran = lab(
        '- { id: a, type: tool, tool: lab, next: { step: a, max: "{{ .most }}" } }',
        meta="inputs: { most: { type: any } }",
        inputs={"most": "many"},
    )
    ran.assert_failed("next_bound", status="error")
    assert len(lab.calls) == 1


def test_the_step_with_a_bad_bound_is_named_wherever_it_stands(lab):
    ran = lab(
        """
        - { id: a, type: tool, tool: lab }
        - { id: b, type: tool, tool: lab, next: { step: a, max: "{{ .most }}" } }
        - { id: c, type: tool, tool: lab }
        """,
        meta="inputs: { most: { type: any } }",
        inputs={"most": -1},
    )
    (failure,) = ran.result.failures
    assert (failure.key, failure.kind) == ("b", "next_bound")
    assert failure.message == "the bound of the jump from b to a is not an integer"
    assert len(lab.calls) == 2


def test_a_max_of_0_never_jumps(lab):
    ran = lab("- { id: a, type: tool, tool: lab, next: { step: a, max: 0 } }")
    assert list(ran.steps) == ["a", "done"]


def test_a_self_jump_repeats_the_step_and_counts_once_per_jump(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, inputs: { value: "{{ .a.retry_count }}" }, next: { step: a, max: 3 } }
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .a.retry_count }}" } }
    """)
    assert ran.status == "completed"
    assert lab.values() == [0, 1, 2, 3, 3]


def test_retry_count_of_a_step_that_is_no_target_counts_its_own_jumps(lab):
    lab("""
        - { id: a, type: tool, tool: lab }
        - { id: b, type: tool, tool: lab, next: { step: a, max: 2 } }
        - { id: c, type: tool, tool: lab, inputs: { value: "{{ .a.retry_count }} {{ .b.retry_count }}" } }
    """)
    assert lab.values()[-1] == "2 2"


def test_retry_count_of_a_step_nobody_jumps_to_or_from_is_0_from_the_start(lab):
    lab("""
        - { id: a, type: tool, tool: lab, inputs: { value: "{{ .b.retry_count }}" } }
        - { id: b, type: tool, tool: lab }
    """)
    assert lab.values()[0] == 0


def test_a_forward_jump_is_no_retry(lab):
    lab("""
        - { id: a, type: tool, tool: lab, next: c }
        - { id: b, type: tool, tool: lab }
        - { id: c, type: tool, tool: lab, inputs: { value: "{{ .c.retry_count }} {{ .a.retry_count }}" } }
    """)
    assert lab.values()[-1] == "0 0"


def test_a_jump_can_be_guarded_so_that_a_loop_ends_early(lab):
    lab.scripts["state"] = ["down", "down", "up"]
    ran = lab("""
        - { id: probe, type: tool, tool: lab, inputs: { script: state } }
        - id: again
          type: tool
          tool: lab
          when: '{{ ne .probe.value "up" }}'
          next: { step: probe, max: 10 }
    """)
    assert list(ran.steps) == ["probe", "again", "probe#2", "again#2", "probe#3", "again#3", "done"]
    assert ran.steps["again#3"] == "skipped"


def test_counters_start_at_0_each_time_a_list_is_entered(lab):
    ran = lab("""
        - id: outer
          type: repeat
          repeat: { max: 2 }
          steps:
            - { id: a, type: tool, tool: lab, inputs: { value: "{{ .a.retry_count }}" }, next: { step: a, max: 1 } }
    """)
    assert lab.values() == [0, 1, 0, 1]
    assert list(ran.steps)[:4] == ["outer/0/a", "outer/0/a#2", "outer/1/a", "outer/1/a#2"]


def test_counters_of_a_branch_arm_restart_when_a_jump_enters_it_again(lab):
    lab("""
        - id: fork
          type: branch
          branches:
            - condition: default
              steps:
                - { id: a, type: tool, tool: lab, inputs: { value: "{{ .a.retry_count }}" }, next: { step: a, max: 1 } }
        - { id: again, type: tool, tool: lab, next: { step: fork, max: 1 } }
    """)
    assert lab.values() == [0, 1, None, 0, 1, None]


def test_every_jump_is_governed_and_approved_again(lab):
    steps = """
        - { id: a, type: tool, tool: writer, next: { step: a, max: 1 } }
    """
    ran = lab(
        steps,
        tools=tool("writer", writes="disk", idempotent="false"),
        meta="governance: { rules: [ { writes: [disk], action: require-approval } ] }",
        answers=["y alice", "y bob"],
    )
    assert ran.status == "completed"
    assert [e["approver_id"] for e in ran.of("approval_resolved")] == ["alice", "bob"]
    tickets = [e["ticket_id"] for e in ran.of("approval_submitted")]
    assert len(set(tickets)) == 2
    assert [e.step_key for e in ran.events if e.type == "governance_decision"] == ["a", "a#2", "done"]


def test_a_branch_arm_may_carry_next_to_a_later_step_of_the_branchs_list(lab):
    ran = lab("""
        - id: fork
          type: branch
          branches:
            - { condition: true, next: c, steps: [ { id: x, type: tool, tool: lab } ] }
        - { id: b, type: tool, tool: lab }
        - { id: c, type: tool, tool: lab }
    """)
    assert list(ran.steps) == ["fork/0/x", "fork", "c", "done"]


# -- continue_on_fail ------------------------------------------------------------------------------------------------


def test_continue_on_fail_covers_failed_and_error(lab):
    ran = lab("""
        - { id: failed, type: tool, tool: lab, inputs: { exit: 3 }, continue_on_fail: true }
        - { id: errs, type: tool, tool: lab, timeout: 50ms, inputs: { pause: 5 }, continue_on_fail: true }
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .failed.status }} {{ .errs.status }}" } }
    """)
    assert ran.status == "completed"
    assert lab.values()[-1] == "failed error"


def test_a_failed_step_keeps_its_outputs(lab):
    lab("""
        - { id: a, type: tool, tool: lab, inputs: { exit: 3, value: left }, continue_on_fail: true }
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .a.value }}" } }
    """)
    assert lab.values()[-1] == "left"


def test_a_denial_ignores_continue_on_fail(lab):
    ran = lab(
        "- { id: a, type: tool, tool: writer, continue_on_fail: true }",
        tools=tool("writer", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: deny } ] }",
    )
    ran.assert_failed("governance_denied")
    assert ran.steps == {"a": "skipped"}
    assert ran.of("step_complete", "a")[0]["reason"] == "governance_denied"
    assert lab.calls == []


def test_a_rejection_ignores_continue_on_fail(lab):
    ran = lab(
        "- { id: a, type: tool, tool: writer, continue_on_fail: true }",
        tools=tool("writer", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: require-approval } ] }",
        answers=["n bob: not today"],
    )
    assert ran.status == "failed"
    assert ran.steps == {"a": "skipped"}
    assert lab.calls == []


def test_continue_on_fail_of_a_block_does_not_let_a_denied_step_inside_pass(lab):
    ran = lab(
        """
        - id: fork
          type: branch
          continue_on_fail: true
          branches: [ { condition: default, steps: [ { id: a, type: tool, tool: writer } ] } ]
        """,
        tools=tool("writer", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: deny } ] }",
    )
    ran.assert_failed("governance_denied")
    assert "done" not in ran.steps


def test_continue_on_fail_of_a_block_covers_a_failure_inside(lab):
    ran = lab("""
        - id: fork
          type: branch
          continue_on_fail: true
          branches:
            - condition: default
              steps:
                - { id: a, type: tool, tool: lab, inputs: { exit: 1 } }
                - { id: b, type: tool, tool: lab }
    """)
    assert ran.steps == {"fork/0/a": "failed", "fork": "failed", "done": "success"}


# -- branch ----------------------------------------------------------------------------------------------------------


def test_only_the_first_true_arm_runs(lab):
    ran = lab("""
        - id: fork
          type: branch
          branches:
            - { condition: false, steps: [ { id: a, type: tool, tool: lab } ] }
            - { condition: "{{ eq 1 1 }}", label: second, steps: [ { id: b, type: tool, tool: lab } ] }
            - { condition: true, steps: [ { id: c, type: tool, tool: lab } ] }
    """)
    assert list(ran.steps) == ["fork/1/b", "fork", "done"]
    assert [(e.type, e.data["branch_label"]) for e in ran.events if e.type.startswith("branch_")] == [
        ("branch_enter", "second"),
        ("branch_exit", "second"),
    ]


def test_no_true_condition_and_no_default_is_failed(lab):
    ran = lab("- { id: fork, type: branch, branches: [ { condition: false, steps: [] } ] }")
    ran.assert_failed("no_branch_matched")


def test_an_arm_without_end_falls_through_and_its_outputs_stay(lab):
    lab("""
        - id: fork
          type: branch
          branches: [ { condition: default, steps: [ { id: a, type: tool, tool: lab, inputs: { value: 7 } } ] } ]
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .value }} {{ .a.value }}" } }
    """)
    assert lab.values()[-1] == "7 7"


def test_an_end_inside_a_branch_ends_the_run(lab):
    ran = lab("""
        - id: fork
          type: branch
          branches:
            - { condition: default, steps: [ { id: stop, type: end, outcome: { category: no_action, code: early } } ] }
        - { id: b, type: tool, tool: lab }
    """)
    ran.assert_outcome("no_action", "early")
    assert list(ran.steps) == ["fork/0/stop", "fork"]
    assert [e["step_key"] for e in ran.of("outcome_resolved")] == ["fork/0/stop"]


# -- the end ---------------------------------------------------------------------------------------------------------


GUARDED = """
    - { id: a, type: tool, tool: lab }
    - { id: stop, type: end, when: "{{ .go }}", outcome: { category: resolved } }
"""


def test_a_guarded_end_does_not_make_a_path_safe(lab):
    with pytest.raises(DocumentError) as caught:
        lab(GUARDED, meta="inputs: { go: { type: bool } }", end=False)
    assert {d.rule for d in caught.value.diagnostics} == {"end-unreachable"}


def test_reaching_the_end_of_the_steps_without_an_end_is_an_error(lab, tmp_path):
    text = lab.book(GUARDED, meta="inputs: { go: { type: bool } }", end=False)
    lab.runner.write({"runbook.yaml": text})
    # Validation refuses such a runbook; the engine must not rely on it.
    checked = load_runbook(tmp_path / "runbook.yaml", registry=lab.runner.registry).runbook
    ran = lab.runner(text, inputs={"go": False}, compiled=CompiledRunbook(checked))
    ran.assert_failed("no_outcome", status="error")
    assert ran.events[-1].data["failure"]["kind"] == "no_outcome"
    assert ran.of("outcome_resolved") == []


def test_an_unnamed_step_is_called_after_its_type_and_number(lab):
    ran = lab("""
        - { type: tool, tool: lab }
        - id: fork
          type: branch
          branches: [ { condition: default, steps: [ { type: tool, tool: lab } ] } ]
        - { type: tool, tool: lab }
    """)
    assert list(ran.steps) == ["_tool_1", "fork/0/_tool_2", "fork", "_tool_3", "done"]


# -- order of events ---------------------------------------------------------------------------------------------------


def test_the_events_of_a_step_stand_in_the_order_of_the_phases(lab):
    ran = lab(
        "- { id: a, type: tool, tool: writer, export: [value], inputs: { value: 1 } }",
        tools=tool("writer", writes="disk", outputs="{ value: { type: any }, extra: { type: any } }"),
        meta="governance: { rules: [ { writes: [disk], action: require-approval } ] }",
        answers=["y"],
    )
    assert [e.type for e in ran.events if e.step_key == "a"] == [
        "contract_evaluated",
        "governance_decision",
        "approval_submitted",
        "approval_response",
        "approval_resolved",
        "step_start",
        "contract_violation",
        "scope_export",
        "step_complete",
    ]


def test_governance_comes_before_the_step_starts_and_names_source_rule_reason_risk_and_digest(lab):
    ran = lab("- { id: a, type: tool, tool: lab }", meta="governance: { rules: [ { risk: low, action: allow } ] }")
    decision = ran.of("governance_decision", "a")[0]
    assert decision["decision"] == "allow"
    assert decision["risk_level"] == "low"
    assert decision["rule"] == 1
    assert decision["reason"]
    assert decision["source"]
    assert decision["policy_digest"].startswith("sha256:")


def test_blocks_have_step_events_but_are_never_governed(lab):
    ran = lab("- { id: fork, type: branch, branches: [ { condition: default, steps: [] } ] }")
    assert [e.type for e in ran.events if e.step_key == "fork"] == [
        "step_start",
        "branch_enter",
        "branch_exit",
        "step_complete",
    ]
