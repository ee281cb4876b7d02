"""Variables: where outputs stand, what is promoted, scopes, exports, constants and visibility."""

from __future__ import annotations

import hashlib
import json

import pytest
from lab import Lab, tool

from gert_core.api import DocumentError, InputError
from gert_core.engine.steps.compiled import CompiledRunbook

TWO = "{ value: { type: any, required: false }, other: { type: any, required: false } }"


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def seen(lab: Lab, steps: str, expression: str, **options):
    """The value of an expression after some steps."""
    ran = lab(
        steps + f"\n- {{ id: look, type: tool, tool: lab, inputs: {{ value: {json.dumps(expression)} }} }}", **options
    )
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    return lab.calls[-1].inputs.get("value")


ONE = "- { id: a, type: tool, tool: lab, inputs: { value: 5 } }"


@pytest.mark.parametrize("expression", ["{{ .value }}", "{{ .a.value }}", "{{ .step.a.value }}", "{{ a.value }}"])
def test_outputs_are_promoted_and_stand_under_the_id(lab, expression):
    assert seen(lab, ONE, expression) == 5


def test_a_later_step_wins_the_promoted_name(lab):
    steps = ONE + "\n- { id: b, type: tool, tool: lab, inputs: { value: 6 } }"
    assert seen(lab, steps, "{{ .value }} {{ .a.value }} {{ .b.value }}") == "6 5 6"


def test_next_is_no_loop_for_promotion(lab):
    lab.scripts["n"] = [1, 2]
    steps = "- { id: a, type: tool, tool: lab, inputs: { script: n }, next: { step: a, max: 1 } }"
    assert seen(lab, steps, "{{ .value }}") == 2


@pytest.mark.parametrize(("expression", "value"), [("{{ .a.status }}", "success"), ("{{ .a.retry_count }}", 0)])
def test_a_step_has_status_and_retry_count(lab, expression, value):
    assert seen(lab, ONE, expression) == value


def test_an_output_named_status_or_retry_count_wins_over_the_built_in_one(lab):
    outputs = "{ status: { type: any }, retry_count: { type: any } }"
    steps = "- { id: a, type: tool, tool: odd, inputs: { outputs: { status: mine, retry_count: 9 } } }"
    files = tool("odd", outputs=outputs)
    assert seen(lab, steps, "{{ .a.status }} {{ .a.retry_count }}", tools=files) == "mine 9"


def test_an_assert_shows_passed(lab):
    steps = """- { id: ok, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ] }
- { id: bad, type: assert, continue_on_fail: true, assert: [ { type: equals, value: 1, expected: 2 } ] }"""
    assert seen(lab, steps, "{{ .ok.passed }} {{ .bad.passed }}") == "true false"


def test_an_optional_input_nobody_gives_is_null_and_empty_in_text(lab):
    meta = "inputs: { maybe: { type: string } }"
    assert seen(lab, "- { id: a, type: tool, tool: lab, when: '{{ .maybe }}' }", "[{{ .maybe }}]", meta=meta) == "[]"
    assert len(lab.calls) == 1


def test_values_that_came_from_data_are_never_rendered_again(lab):
    meta = "inputs: { text: { type: string } }"
    assert seen(lab, ONE, "{{ .text }}", meta=meta, inputs={"text": "{{ .value }}"}) == "{{ .value }}"
    again = "{{ .b.value }}"
    steps = """- { id: b, type: tool, tool: lab, inputs: { value: "{{ .text }}" } }"""
    assert seen(lab, steps, again, meta=meta, inputs={"text": "{{ .value }}"}) == "{{ .value }}"


def test_tools_cannot_change_the_state_through_what_they_were_given(lab):
    def spoil(call):
        value = call.inputs.get("value")
        if isinstance(value, dict):
            value["list"].append("spoiled")

    lab.on_call = spoil
    steps = '- { id: a, type: tool, tool: lab, inputs: { value: "{{ .data }}" } }'
    ran = lab(
        steps + '\n- { id: b, type: tool, tool: lab, inputs: { value: "{{ .data.list }}" } }',
        meta="constants: { data: { list: [1] } }",
    )
    assert lab.calls[-1].inputs["value"] == [1], ran.status


# -- scope and export -------------------------------------------------------------------------------------------------


SCOPED = "- { id: a, type: tool, tool: lab, scope: round/0, inputs: { value: 5 } }"


@pytest.mark.parametrize(
    "expression", ["{{ .scope.round/0.value }}", "{{ .scope.round.0.value }}", "{{ .a.value }}", "{{ .step.a.value }}"]
)
def test_scoped_outputs_stand_at_the_scopes_path_and_under_the_id(lab, expression):
    assert seen(lab, SCOPED, expression) == 5


def test_scoped_outputs_are_not_promoted(lab):
    steps = "- { id: z, type: tool, tool: lab, inputs: { value: outer } }\n" + SCOPED
    assert seen(lab, steps, "{{ .value }}") == "outer"


def test_a_templated_scope_is_rendered(lab):
    meta = "inputs: { n: { type: int, default: 3 } }"
    steps = SCOPED.replace("round/0", '"round/{{ .n }}"')
    assert seen(lab, steps, "{{ .scope.round/3.value }}", meta=meta) == 5


def test_two_steps_share_a_scope(lab):
    steps = (
        SCOPED.replace("lab,", "two,").replace("{ value: 5 }", "{ outputs: { value: 1 } }")
        + "\n- { id: b, type: tool, tool: two, scope: round/0, inputs: { outputs: { other: 2 } } }"
    )
    assert seen(lab, steps, "{{ .scope.round/0 }}", tools=tool("two", outputs=TWO)) == {"value": 1, "other": 2}


def test_export_promotes_a_scoped_output_and_is_traced(lab):
    steps = SCOPED.replace("scope: round/0,", "scope: round/0, export: [value],")
    assert seen(lab, steps, "{{ .value }}") == 5
    ran = lab(steps)
    assert ran.of("scope_export", "a") == [{"step_id": "a", "scope": "round/0", "exported_vars": ["value"]}]


def test_exporting_a_name_another_step_holds_is_a_collision(lab):
    with pytest.raises(DocumentError) as caught:
        lab("""
            - { id: a, type: tool, tool: lab, inputs: { value: 1 }, export: [value] }
            - { id: b, type: tool, tool: lab, inputs: { value: 2 }, export: [value] }
        """)
    assert {d.rule for d in caught.value.diagnostics} == {"export-collision"}


def test_exporting_the_name_of_an_input_or_constant_is_a_collision(lab):
    for meta in ("inputs: { value: {} }", "constants: { value: 1 }"):
        with pytest.raises(DocumentError) as caught:
            lab(SCOPED.replace("scope: round/0,", "scope: round/0, export: [value],"), meta=meta)
        assert "export-collision" in {d.rule for d in caught.value.diagnostics}


def collision_at_run_time(lab, tmp_path, *, more: str = ""):
    """Two steps that export the same name, past validation."""
    from gert_core.documents.load import load_runbook

    text = lab.book(f"""
        - {{ id: a, type: tool, tool: lab, inputs: {{ value: 1 }}, export: [value] }}
        - {{ id: b, type: tool, tool: lab, scope: s, inputs: {{ value: 2 }}, export: [value]{more} }}
        - {{ id: c, type: tool, tool: lab, inputs: {{ value: "{{{{ .b.status }}}} {{{{ .value }}}}" }} }}
    """)
    lab.runner.write({"runbook.yaml": text})
    checked = load_runbook(tmp_path / "runbook.yaml", registry=lab.runner.registry).runbook
    return lab.runner(text, compiled=CompiledRunbook(checked))


def test_a_collision_at_run_time_is_an_error_of_the_step(lab, tmp_path):
    ran = collision_at_run_time(lab, tmp_path)
    ran.assert_failed("export_collision", status="error")
    assert ran.steps == {"a": "success", "b": "error"}


def test_after_a_collision_the_name_keeps_its_value_and_the_step_says_error(lab, tmp_path):
    ran = collision_at_run_time(lab, tmp_path, more=", continue_on_fail: true")
    assert ran.status == "completed"
    assert lab.values()[-1] == "error 1"


def test_the_same_step_may_export_again(lab):
    lab.scripts["n"] = [1, 2]
    steps = "- { id: a, type: tool, tool: lab, inputs: { script: n }, export: [value], next: { step: a, max: 1 } }"
    assert seen(lab, steps, "{{ .value }}") == 2


def test_exclusive_arms_never_collide(lab):
    lab.scripts["n"] = [1, 2]
    steps = """- { id: n, type: tool, tool: two, inputs: { outputs: { other: "{{ .n.retry_count }}" } } }
- id: fork
  type: branch
  branches:
    - condition: "{{ eq .other 0 }}"
      steps: [ { id: a, type: tool, tool: lab, scope: s, inputs: { value: first }, export: [value] } ]
    - condition: default
      steps: [ { id: b, type: tool, tool: lab, scope: s, inputs: { value: second }, export: [value] } ]
  next: { step: n, max: 1 }"""
    assert seen(lab, steps, "{{ .value }}", tools=tool("two", outputs=TWO)) == "second"


# -- constants and inputs ---------------------------------------------------------------------------------------------


def test_constants_may_hold_templates_over_inputs_and_other_constants(lab):
    meta = """
        inputs: { host: { type: string, default: srv } }
        constants:
          url: "https://{{ .host }}{{ .paths.health }}"
          paths: { health: "/{{ .host }}/ok" }
          copy: "{{ .paths }}"
    """
    assert seen(lab, ONE, "{{ .url }} {{ .copy.health }}", meta=meta) == "https://srv/srv/ok /srv/ok"


def test_constants_that_refer_to_each_other_in_a_circle_are_refused(lab):
    with pytest.raises(DocumentError):
        lab(ONE, meta='constants: { a1: "{{ .b1 }}", b1: "{{ .a1 }}" }')
    assert lab.calls == []


def test_inputs_from_spreads_left_to_right_and_inputs_win(lab):
    meta = "constants: { one: { value: 1, pause: 0 }, two: { value: 2, script: none } }"
    lab(
        """
        - { id: a, type: tool, tool: lab, inputs_from: [one, two] }
        - { id: b, type: tool, tool: lab, inputs_from: one, inputs: { value: 3 } }
        """,
        meta=meta,
    )
    assert lab.calls[0].inputs == {"value": 2, "script": "none", "pause": 0.0}
    assert lab.calls[1].inputs == {"value": 3, "pause": 0.0}


def test_inputs_from_a_steps_output_object_is_spread_and_traced_resolved(lab):
    lab.scripts["made"] = [{"value": {"value": 9}}]
    ran = lab("""
        - { id: a, type: tool, tool: lab, inputs: { script: made } }
        - { id: b, type: tool, tool: lab, inputs_from: a.value }
    """)
    assert ran.of("step_start", "b")[0]["inputs"] == {"value": 9}


@pytest.mark.parametrize("name", ["step", "scope", "run", "repeat"])
def test_reserved_names_cannot_be_inputs(lab, name):
    with pytest.raises(DocumentError) as caught:
        lab(ONE, meta=f"inputs: {{ {name}: {{}} }}")
    assert "reserved-name" in {d.rule for d in caught.value.diagnostics}


def test_the_run_describes_itself(lab):
    assert seen(lab, ONE, "{{ .run.runbook }} {{ .run.actor }} {{ .run.mode }}") == "lab tester real"


# -- visibility --------------------------------------------------------------------------------------------------------


def visible_to(lab, tmp_path, rule: str) -> dict:
    """What an extension runner would receive, through its trace."""
    from gert_core.documents.parts import VisibilityModel
    from gert_core.documents.yaml import loads
    from gert_core.engine.steps.visibility import visible

    tree = {"question": "q", "secret": "s", "scope": {"round": {"0": {"a": {"x": 1, "y": 2}, "b": {"x": 3}}, "1": {}}}}
    return visible(tree, VisibilityModel.model_validate(loads(rule.encode(), name="rule").value))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{ allow: [question] }", {"question": "q"}),
        ("{ deny: [secret, scope] }", {"question": "q"}),
        ("{ allow: ['*'], deny: [scope, secret] }", {"question": "q"}),
        ("{ allow: ['scope.round/0.a'] }", {"scope": {"round": {"0": {"a": {"x": 1, "y": 2}}}}}),
        ("{ allow: ['scope.round/0.*'], deny: ['scope.round/0.b.*'] }",
         {"scope": {"round": {"0": {"a": {"x": 1, "y": 2}, "b": {}}}}}),
        ("{ allow: ['scope.**.x'] }", {"scope": {"round": {"0": {"a": {"x": 1}, "b": {"x": 3}}}}}),
        ("{ allow: [] }", {}),
        ("{ allow: [question], deny: ['**'] }", {}),
    ],
)  # fmt: skip
def test_globs_allow_and_deny_and_a_match_covers_all_below(lab, tmp_path, rule, expected):
    assert visible_to(lab, tmp_path, rule) == expected


def test_visibility_is_traced_with_the_hash_of_the_filtered_view(lab):
    ran = lab(
        "- { id: a, type: tool, tool: lab, visibility: { allow: [question], deny: [secret] } }",
        meta="constants: { question: q, secret: s }",
    )
    view = hashlib.sha256(b'{"question":"q"}').hexdigest()
    assert ran.of("visibility_applied", "a") == [
        {"step_id": "a", "allow": ["question"], "deny": ["secret"], "filtered_view_hash": f"sha256:{view}"}
    ]


# -- extensions and principals -----------------------------------------------------------------------------------------


def test_extension_data_passes_through_untouched_into_the_trace(lab):
    ran = lab(
        "- { id: a, type: tool, tool: lab, extensions: { x-slo: 99.9, x-text: '{{ not rendered }}' } }",
        meta="extensions: { x-team: core, x-any: { deep: [1] } }",
    )
    assert ran.of("run_start")[0]["extensions"] == {"x-team": "core", "x-any": {"deep": [1]}}
    assert ran.of("step_start", "a")[0]["extensions"] == {"x-slo": 99.9, "x-text": "{{ not rendered }}"}


def test_extension_data_that_is_given_twice_is_recorded_twice(lab):
    book = lab.book("- { id: a, type: tool, tool: lab }", meta="extensions: { x-a: 1, x-b: 2, x-c: { d: false } }")
    ran = lab.runner(book + "\nextensions: { x-b: 2, x-c: { d: true }, x-e: 3 }\n")
    facts = ran.of("run_start")[0]
    assert facts["extensions"] == {"x-a": 1, "x-b": 2, "x-c": {"d": True}, "x-e": 3}
    assert facts["meta"] == {"extensions": {"x-b": 2, "x-c": {"d": False}}}


def test_a_declared_principal_is_on_the_steps_events(lab):
    ran = lab("- { id: a, type: tool, tool: lab, principal: { kind: agent, id: skeptic-1, role: skeptic } }")
    for event in ran.events:
        if event.step_key == "a" and event.type in ("step_start", "step_complete"):
            assert event.principal == {"kind": "agent", "id": "skeptic-1", "role": "skeptic"}
        if event.type in ("governance_decision", "run_start"):
            assert event.principal == {"kind": "system", "id": "kernel"}


def test_a_principal_may_hold_templates_so_that_each_item_names_its_agent(lab):
    ran = lab(
        """
        - id: a
          type: tool
          tool: lab
          for_each: { as: agent, over: [ pro, con ] }
          principal: { kind: agent, id: "agent-{{ .agent }}" }
        """
    )
    who = [e.principal["id"] for e in ran.events if e.type == "step_complete" and e.step_key.startswith("a[")]
    assert who == ["agent-pro", "agent-con"]


def test_the_person_who_answers_a_manual_step_is_its_principal(lab):
    ran = lab("- { id: a, type: manual, instructions: look }", answers=[""])
    complete = next(e for e in ran.events if e.type == "step_complete" and e.step_key == "a")
    assert complete.principal == {"kind": "human", "id": "tester"}


# -- run_start ----------------------------------------------------------------------------------------------------------


def test_run_start_says_who_ran_what_where_with_which_inputs(lab, tmp_path):
    ran = lab(
        ONE,
        meta="""
        inputs: { host: { type: string }, port: { type: int, default: 443 } }
        constants: { path: /ok }
        secrets: [ { env: TOKEN, required: false } ]
        """,
        inputs={"host": "srv"},
    )
    data = ran.events[0].data
    digest = hashlib.sha256((tmp_path / "runbook.yaml").read_bytes()).hexdigest()
    tool_digest = hashlib.sha256((tmp_path / "tools/lab.tool.yaml").read_bytes()).hexdigest()
    assert data["runbook"] == "lab"
    assert data["runbook_hash"] == f"sha256:{digest}"
    assert data["tool_hashes"] == {"lab": f"sha256:{tool_digest}"}
    assert data["policy_digest"].startswith("sha256:")
    assert {"name", "version"} <= set(data["plugins"][0])
    assert "step-tool" in {plugin["name"] for plugin in data["plugins"]}
    assert data["actor"] == "tester"
    assert data["host"]
    assert data["gert_version"]
    assert data["inputs"] == {"host": "srv", "port": 443}
    assert data["input_sources"] == {"host": "cli", "port": "default"}
    assert data["constants"] == {"path": "/ok"}
    assert data["secrets"] == ["TOKEN"]


def test_step_start_has_the_resolved_inputs_and_the_idempotency_key(lab):
    ran = lab(ONE)
    start = ran.of("step_start", "a")[0]
    key = hashlib.sha256(f"{ran.result.run_id}\na".encode()).hexdigest()
    assert start["inputs"] == {"value": 5}
    assert start["idempotency_key"] == key == lab.calls[0].key


def test_durations_are_text_in_seconds(lab):
    import re

    ran = lab(ONE)
    assert re.fullmatch(r"\d+\.\d{3}s", ran.of("step_complete", "a")[0]["duration"])
    assert re.fullmatch(r"\d+\.\d{3}s", ran.events[-1].data["duration"])


def test_a_secret_input_that_cannot_be_masked_is_refused_before_anything_runs(lab):
    for type_, value in (("int", 987), ("object", {"deep": [1.5]})):
        with pytest.raises(InputError, match="masked"):
            lab(ONE, meta=f"inputs: {{ pin: {{ type: {type_}, secret: true }} }}", inputs={"pin": value})
    assert lab.calls == []
    ran = lab(ONE, meta="inputs: { o: { type: object, secret: true } }", inputs={"o": {"k": "topsecretvalue"}})
    assert "topsecretvalue" not in ran.result.trace.read_text()
