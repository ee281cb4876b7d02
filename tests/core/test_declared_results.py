"""What a step type declares and what its ``run`` returns: outputs, fields, and what blocks with bound variables set."""

from __future__ import annotations

import pytest
from lab import Lab, tool
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Block, Completed, Failed, Flow, StepType
from gert_core.kit.models import StepModel, Steps
from gert_core.validation import validate_runbook


class Yield(StepModel):
    """Returns what it is told, whatever its type declares."""

    outputs: dict[str, object] = Field(default={}, description="What it returns as outputs.")
    fields: dict[str, object] = Field(default={"ok": True}, description="And as fields.")
    fails: bool = Field(default=False, description="Whether it fails.")
    name: str = Field(default="n", description="The name of the output that it declares.")


class With(StepModel):
    """Runs its steps once, with a variable."""

    value: str = Field(description="The variable.")
    steps: Steps = Field(description="The steps.")


def _run(step, ctx):
    if step.fails:
        return Failed(kind="told", message="told to fail", outputs=step.outputs, fields=step.fields)
    return Completed(outputs=step.outputs, fields=step.fields)


def _with(step, ctx):
    result = ctx.run_block(ctx.blocks[0], bind={"value": step.value})
    ctx.emit("with_result", {"outputs": dict(result.outputs)})
    return Completed()


class Types:
    """The plugin under test."""

    @hookimpl
    def gert_step_types(self):
        yield StepType(
            name="yield",
            model=Yield,
            run=_run,
            contract=PURE,
            outputs=lambda step: {step.name: "int"},
            fields={"ok": "bool"},
        )
        yield StepType(
            name="with",
            model=With,
            run=_with,
            contract=PURE,
            flow=Flow.IN_ORDER,
            blocks=lambda step: [Block(name="steps", steps=step.steps, binds={"value": "string"})],
            binds=True,
        )


@pytest.fixture
def lab(tmp_path) -> Lab:
    made = Lab(tmp_path)
    made.runner.registry = made.registry_with(Types())
    return made


def told(ran, key="a"):
    return [(data["kind"], data["message"]) for data in ran.of("contract_violation", key)]


def test_declared_outputs_and_fields_are_kept_and_coerced(lab):
    ran = lab("- { id: a, type: yield, outputs: { n: '4' }, fields: { ok: 'true' } }")
    assert ran.of("step_complete", "a")[0]["outputs"] == {"n": 4}
    assert ran.of("step_complete", "a")[0]["fields"] == {"ok": True}
    assert told(ran) == []


def test_undeclared_outputs_and_fields_are_dropped_and_told(lab):
    ran = lab("- { id: a, type: yield, outputs: { n: 1, more: 2 }, fields: { ok: true, odd: 3 } }")
    assert ran.status == "completed"
    assert ran.result.outputs == {"n": 1}
    done = ran.of("step_complete", "a")[0]
    assert (done["outputs"], done["fields"]) == ({"n": 1}, {"ok": True})
    assert told(ran) == [
        ("undeclared_output", "output 'more' is not declared by step type yield and was dropped"),
        ("undeclared_output", "field 'odd' is not declared by step type yield and was dropped"),
    ]


def test_missing_outputs_and_fields_are_told(lab):
    ran = lab("- { id: a, type: yield, fields: {} }")
    assert told(ran) == [
        ("missing_output", "output 'n' is declared by step type yield but was not produced"),
        ("missing_output", "field 'ok' is declared by step type yield but was not returned"),
    ]


def test_a_failed_step_owes_nothing(lab):
    ran = lab("- { id: a, type: yield, fails: true, fields: {}, continue_on_fail: true }")
    assert told(ran) == []


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("outputs: { n: many }", "output 'n': "),
        ("outputs: { n: 1 }, fields: { ok: [1] }", "field 'ok': "),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_of_the_step(lab, result, message):
    ran = lab(f"- {{ id: a, type: yield, {result} }}")
    ran.assert_failed("output_type", status="error")
    assert ran.result.failures[0].message.startswith(
        f"plugin Types (types 0) failed in `run` of step type 'yield': {message}"
    )
    assert "n" not in ran.result.outputs


def test_names_of_outputs_may_be_templates(lab):
    ran = lab("- { id: a, type: yield, name: '{{ .which }}', outputs: { size: 3 } }", meta="constants: { which: size }")
    assert ran.result.outputs == {"size": 3}
    assert told(ran) == []


def test_a_policy_may_deny_what_a_type_does_not_keep(lab):
    meta = "governance: { rules: [ { contract_violations: deny } ] }"
    ran = lab("- { id: a, type: yield, outputs: { n: 1, more: 2 } }", meta=meta)
    ran.assert_failed("contract_violation", status="error")


def test_a_scenario_is_held_to_the_outputs_and_may_leave_out_fields(lab):
    from gert_core.documents.scenario import ScenarioModel

    scenario = ScenarioModel.model_validate({"steps": {"a": {"outputs": {"n": 1, "more": 2}}}})
    ran = lab("- { id: a, type: yield }", mode="replay", scenario=scenario)
    assert ran.result.outputs == {"n": 1}
    assert [kind for kind, _ in told(ran)] == ["undeclared_output"]


# -- items of loops ----------------------------------------------------------------------------------------------------


def test_fields_of_items_are_found_beside_their_outputs(lab):
    ran = lab(
        """
        - id: look
          type: assert
          continue_on_fail: true
          for_each: { as: n, over: [1, 2] }
          assert: [ { type: equals, value: "{{ .n }}", expected: 1 } ]
        - id: turns
          type: repeat
          for_each: { as: n, over: [a, b], key: "{{ .n }}" }
          repeat: { max: 3, until: '{{ or (eq .n "a") (gt .repeat.index 0) }}' }
          steps: [ { id: turn, type: tool, tool: lab } ]
        - { id: y, type: yield, for_each: { as: n, over: [7] }, outputs: { n: "{{ .n }}" } }
        - { id: see, type: tool, tool: lab, inputs: { value: "{{ .look.0.passed }} {{ .look.1.passed }} {{ .turns.a.iterations }} {{ .turns.b.iterations }} {{ .y.0.ok }} {{ .y }} {{ .look }}" } }
        """
    )
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    assert lab.values()[-1] == 'true false 1 2 true [{"n":7}] [{},{}]'


# -- blocks with bound variables ---------------------------------------------------------------------------------------

BOUND = """
- id: w
  type: with
  value: blue
  steps:
    - { id: one, type: tool, tool: lab, inputs: { value: "{{ .with.value }}" } }
    - { id: two, type: tool, tool: lab, scope: deep, export: [value], inputs: { value: "two {{ .with.value }}" } }
- { id: see, type: tool, tool: lab, inputs: { value: "{{ .one.value }}, {{ .value }}, {{ .scope.deep.value }}, {{ .two.status }}" } }
"""


def test_a_block_that_runs_once_keeps_its_outputs_with_bound_variables(lab):
    ran = lab(BOUND.replace("export: [value], ", ""))
    assert ran.status == "completed"
    assert lab.values()[-1] == "blue, blue, two blue, success"
    assert ran.of("with_result")[0]["outputs"] == {"value": "blue"}
    assert ran.result.outputs["value"] == lab.values()[-1]


def test_a_bound_variable_ends_with_its_block(lab):
    lab.runner.write(tool("lab", outputs="{ value: { type: any } }"))
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(BOUND.replace("{{ .one.value }}", "{{ .with.value }}").replace("export: [value], ", "")))
    found = validate_runbook(path, registry=lab.runner.registry)
    assert [d.rule for d in found.diagnostics] == ["loop-variable-leak"]


@pytest.mark.parametrize("most", [1, 2])
def test_a_repeat_keeps_what_it_sets_inside_whatever_its_bound(lab, most):
    path = lab.directory / "book.yaml"
    steps = f"""
    - {{ id: r, type: repeat, repeat: {{ max: {most} }}, steps: [ {{ id: turn, type: tool, tool: lab }} ] }}
    - {{ id: see, type: tool, tool: lab, inputs: {{ value: "{{{{ .turn.value }}}}" }} }}
    """
    path.write_text(lab.book(steps))
    found = validate_runbook(path, registry=lab.runner.registry)
    assert [d.rule for d in found.diagnostics] == ["unresolved-variable"]
