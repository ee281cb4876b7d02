"""What a step's outputs are held to: undeclared, missing, changing and wrongly typed ones, and rules that deny them."""

from __future__ import annotations

import pytest
from lab import Lab, tool

DENY = "governance: { rules: [ { contract_violations: deny } ] }"


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def violations(ran):
    return [(e["kind"], e["severity"]) for e in ran.of("contract_violation")]


def test_an_undeclared_output_is_stripped_and_traced(lab):
    ran = lab("- { id: a, type: tool, tool: lab, inputs: { outputs: { value: 1, extra: 2 } } }")
    assert ran.status == "completed"
    assert ran.of("step_complete", "a")[0]["outputs"] == {"value": 1}
    assert violations(ran) == [("undeclared_output", "warning")]
    assert "'extra'" in ran.of("contract_violation")[0]["message"]


def test_a_missing_output_is_traced_unless_it_is_not_required(lab):
    files = tool("must", outputs="{ here: {}, gone: {}, maybe: { required: false } }")
    ran = lab("- { id: a, type: tool, tool: must, inputs: { outputs: { here: 1 } } }", tools=files)
    assert ran.status == "completed"
    assert violations(ran) == [("missing_output", "warning")]
    assert "'gone'" in ran.of("contract_violation")[0]["message"]


def test_a_tool_that_failed_owes_no_outputs(lab):
    files = tool("must", outputs="{ here: {} }")
    ran = lab(
        "- { id: a, type: tool, tool: must, continue_on_fail: true, inputs: { exit: 1, outputs: {} } }", tools=files
    )
    assert violations(ran) == []


def test_another_answer_for_the_same_inputs_is_nondeterministic(lab):
    lab.scripts["n"] = [1, 2]
    files = tool("pure", deterministic="true")
    ran = lab("- { id: a, type: tool, tool: pure, inputs: { script: n }, next: { step: a, max: 1 } }", tools=files)
    assert ran.status == "completed"
    assert violations(ran) == [("nondeterministic", "error")]


def test_other_inputs_may_give_another_answer(lab):
    files = tool("pure", deterministic="true")
    ran = lab(
        "- { id: a, type: tool, tool: pure, inputs: { value: '{{ .a.retry_count }}' }, next: { step: a, max: 1 } }",
        tools=files,
    )
    assert violations(ran) == []


def test_two_steps_with_the_same_tool_and_inputs_are_compared(lab):
    lab.scripts["n"] = [1, 2]
    files = tool("pure", deterministic="true")
    ran = lab(
        """
        - { id: a, type: tool, tool: pure, inputs: { script: n } }
        - { id: b, type: tool, tool: pure, action: do, inputs: { script: n } }
        """,
        tools=files,
    )
    assert violations(ran) == [("nondeterministic", "error")]


@pytest.mark.parametrize(
    "inputs",
    ["{ outputs: { value: 1, extra: 2 } }", "{ outputs: { } }", "{ script: n }"],
    ids=["extra", "gone", "changed"],
)
def test_a_deny_rule_makes_any_violation_an_error_of_the_step(lab, inputs):
    lab.scripts["n"] = [1, 2]
    files = tool("pure", deterministic="true", outputs="{ value: {} }")
    ran = lab(
        f"- {{ id: a, type: tool, tool: pure, inputs: {inputs}, next: {{ step: a, max: 1 }} }}", tools=files, meta=DENY
    )
    ran.assert_failed("contract_violation", status="error")
    assert ran.of("contract_violation")


def test_an_output_that_does_not_fit_its_type_is_an_error(lab):
    files = tool("typed", outputs="{ count: { type: int } }")
    ran = lab("- { id: a, type: tool, tool: typed, inputs: { outputs: { count: many } } }", tools=files)
    ran.assert_failed("output_type", status="error")
    assert "count" in ran.result.failures[0].message


def test_outputs_are_coerced_to_their_types(lab):
    files = tool("typed", outputs="{ count: { type: int }, on: { type: bool }, names: { type: list } }")
    ran = lab(
        "- { id: a, type: tool, tool: typed, inputs: { outputs: { count: '7', on: 'true', names: [x] } } }", tools=files
    )
    assert ran.of("step_complete", "a")[0]["outputs"] == {"count": 7, "on": True, "names": ["x"]}


def test_a_step_may_tighten_the_contract_and_is_governed_by_the_result(lab):
    ran = lab(
        "- { id: a, type: tool, tool: lab, contract: { writes: [disk], idempotent: false } }",
        meta="governance: { rules: [ { writes: [disk], action: deny } ] }",
    )
    ran.assert_failed("governance_denied")
    assert ran.of("contract_evaluated", "a")[0]["resolved_contract"]["writes"] == ["disk"]


def test_an_input_the_contract_requires_must_have_a_value_when_the_step_runs(lab):
    files = {
        "tools/need.tool.yaml": """
        apiVersion: tool/v0
        meta: { name: need, transport: lab }
        contract: { effects: [network], inputs: { host: { type: string, required: true } } }
        actions: { do: { method: do } }
        """
    }
    ran = lab(
        "- { id: a, type: tool, tool: need, inputs: { host: '{{ .host }}' } }",
        tools=files,
        meta="inputs: { host: { type: string } }",
    )
    ran.assert_failed("input_missing", status="error")
    assert lab.calls == []


def test_an_input_that_does_not_fit_its_type_is_an_error_before_the_call(lab):
    ran = lab(
        "- { id: a, type: tool, tool: lab, inputs: { pause: '{{ .text }}' } }",
        meta="inputs: { text: { type: any } }",
        inputs={"text": "soon"},
    )
    ran.assert_failed("input_type", status="error")
    assert lab.calls == []


def test_defaults_of_the_contract_fill_in_and_null_counts_as_not_given(lab):
    files = {
        "tools/opt.tool.yaml": """
        apiVersion: tool/v0
        meta: { name: opt, transport: lab }
        contract: { effects: [network], inputs: { value: { type: int, default: 30 } } }
        actions: { do: { method: do } }
        """
    }
    lab(
        """
        - { id: a, type: tool, tool: opt }
        - { id: b, type: tool, tool: opt, inputs: { value: "{{ .nothing }}" } }
        """,
        tools=files,
        meta="inputs: { nothing: { type: int } }",
    )
    assert lab.values() == [30, 30]


def test_a_transport_nobody_provides_is_an_error_of_the_step_that_uses_it(lab):
    files = {
        "tools/far.tool.yaml": """
        apiVersion: tool/v0
        meta: { name: far, transport: pigeon }
        contract: { effects: [network] }
        actions: { fly: { method: fly } }
        """
    }
    ran = lab("- { id: a, type: tool, tool: far }", tools=files, preflight=False)
    ran.assert_failed("transport_missing", status="error")


# -- assert ---------------------------------------------------------------------------------------------------------------


def test_a_failed_assertion_says_expected_and_actual_in_message_and_trace(lab):
    ran = lab("- { id: a, type: assert, assert: [ { type: equals, value: 503, expected: '200', message: health } ] }")
    ran.assert_failed("assertion")
    complete = ran.of("step_complete", "a")[0]
    assert "200" in complete["failure"]["message"]
    assert "503" in complete["failure"]["message"]
    assert complete["detail"]["assertions"][0]["expected"] == "200"
    assert complete["detail"]["assertions"][0]["actual"] == 503
    assert complete["fields"] == {"passed": False}


# -- plugins that misbehave ---------------------------------------------------------------------------------------------------


def test_a_transport_that_raises_is_an_error_of_the_step_and_not_a_traceback(lab):
    def boom(call):
        raise ZeroDivisionError("inside the plugin")

    lab.on_call = boom
    ran = lab("- { id: a, type: tool, tool: lab }")
    ran.assert_failed("plugin_failed", status="error")
    assert "ZeroDivisionError" in ran.result.failures[0].message
    assert ran.events[-1].type == "run_complete"
