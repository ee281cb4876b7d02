"""The status of everything: of steps not run, running and skipped, of loops and their items; what validation allows runs."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core.documents.scenario import ScenarioModel
from gert_core.validation import validate_runbook


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def seen(lab, steps, expression, **options):
    """Run steps; a last one is given the value of an expression."""
    text = steps.rstrip() + f"\n- {{ id: see, type: tool, tool: lab, inputs: {{ value: '{expression}' }} }}\n"
    ran = lab(text, **options)
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    return lab.calls[-1].inputs.get("value")


def rules(lab, steps, *, meta="", tools=None):
    """The rules that validation reports."""
    path = lab.directory / "book.yaml"
    lab.runner.write(tools or {})
    path.write_text(lab.book(steps, meta=meta, tools=tools))
    found = validate_runbook(path, registry=lab.runner.registry)
    return [(d.rule, str(d.severity)) for d in found.diagnostics]


UNRESOLVED = [("unresolved-variable", "error")]
ONE = "- { id: a, type: tool, tool: lab, inputs: { value: 1 } }\n"
ARMS = """
- id: pick
  type: branch
  branches:
    - { condition: true, steps: [ { id: taken, type: tool, tool: lab } ] }
    - { condition: default, steps: [ { id: other, type: tool, tool: lab } ] }
- { id: guarded, type: tool, tool: lab, when: false }
- { id: broken, type: tool, tool: lab, continue_on_fail: true, inputs: { exit: 1 } }
"""


@pytest.mark.parametrize("lead", [".", ".step."])
@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("pick", "success"),
        ("taken", "success"),
        ("other", "not_run"),
        ("guarded", "skipped"),
        ("broken", "failed"),
        ("late", "not_run"),
        ("see", "not_run"),
    ],
)
def test_every_step_has_a_status_from_the_start(lab, lead, name, status):
    text = ARMS + f"- {{ id: see, type: tool, tool: lab, inputs: {{ value: '{{{{ {lead}{name}.status }}}}' }} }}\n"
    ran = lab(text + "- { id: late, type: tool, tool: lab }")
    assert ran.status == "completed"
    assert lab.calls[-2].inputs["value"] == status


@pytest.mark.parametrize("form", ['{{ eq .other.status "not_run" }}', '{{ other.status == "not_run" }}'])
def test_a_condition_may_ask_for_a_step_that_has_not_run(lab, form):
    ran = lab(ARMS + f"- {{ id: x, type: tool, tool: lab, when: '{form}' }}")
    assert ran.steps["x"] == "success"


def test_a_step_in_progress_is_running(lab):
    lab(
        """
        - id: outer
          type: repeat
          repeat: { max: 1 }
          steps:
            - id: inner
              type: parallel
              branches: [ { steps: [ { id: a, type: tool, tool: lab, inputs: { value: "{{ .outer.status }} {{ .step.inner.status }}" } } ] } ]
        - id: each
          type: branch
          for_each: { as: x, over: [1] }
          branches: [ { condition: true, steps: [ { id: b, type: tool, tool: lab, inputs: { value: "{{ .step.each.status }}" } } ] } ]
        """
    )
    assert lab.values() == ["running running", "running"]


def test_statuses_are_reset_when_a_list_is_entered_again(lab):
    lab(
        """
        - id: again
          type: branch
          branches:
            - condition: true
              steps:
                - { id: see, type: tool, tool: lab, inputs: { value: "{{ .work.status }}" } }
                - { id: work, type: tool, tool: lab, inputs: { value: w } }
        - { id: back, type: tool, tool: lab, inputs: { value: "{{ .work.status }}" }, next: { step: again, max: 1 } }
        """
    )
    assert lab.values() == ["not_run", "w", "success", "not_run", "w", "success"]


# -- loops and items ---------------------------------------------------------------------------------------------------

LOOP = """
- id: loop
  type: tool
  tool: lab
  continue_on_fail: true
  for_each: { as: n, over: [ok, no, out]%s }
  when: '{{ ne .n "out" }}'
  inputs: { value: "{{ .n }}", exit: '{{ index .exits .n }}' }
"""
LIST, KEYED = LOOP % "", LOOP % ', key: "k-{{ .n }}"'
EXITS = "constants: { exits: { ok: 0, no: 3, out: 0 } }"


@pytest.mark.parametrize(
    ("steps", "expression", "value"),
    [
        (LIST, "{{ .step.loop.status }}", "failed"),
        (LIST, "{{ .loop.status }}", "failed"),
        (LIST, "{{ .step.loop.failed }}", [1]),
        (LIST, "{{ .step.loop.skipped }}", [2]),
        (LIST, "{{ .loop.0.status }} {{ .loop.1.status }} {{ .loop.2.status }}", "success failed skipped"),
        (LIST, '{{ index .loop 1 "failure" "kind" }}', "exit_code"),
        (LIST, '{{ index (index .loop 2) "status" }}', "skipped"),
        (LIST, "{{ loop[1].status }} {{ loop[2].status }}", "failed skipped"),
        (LIST, "{{ .loop.0.failure }}", None),
        (LIST, "{{ .loop }}", [{"value": "ok"}, {"value": "no"}, None]),
        (LIST, "{{ toJson .loop }}", '[{"value":"ok"},{"value":"no"},null]'),
        (LIST, "{{ len .loop }}", 3),
        (KEYED, "{{ .step.loop.status }} {{ .loop.status }}", "failed failed"),
        (KEYED, "{{ .step.loop.failed }}", ["k-no"]),
        (KEYED, "{{ .step.loop.skipped }}", ["k-out"]),
        (
            KEYED,
            "{{ .loop.k-ok.status }} {{ .loop.k-no.failure.kind }} {{ .loop.k-out.status }}",
            "success exit_code skipped",
        ),
        (KEYED, '{{ index .loop .which "status" }}', "failed"),
        (KEYED, '{{ loop[which]["status"] }} {{ loop[which].failure.kind }}', "failed exit_code"),
        (KEYED, "{{ .loop }}", {"k-ok": {"value": "ok"}, "k-no": {"value": "no"}, "k-out": None}),
    ],
)
def test_loops_and_items_have_a_status_that_is_no_part_of_their_value(lab, steps, expression, value):
    meta = EXITS.replace("constants: { ", "constants: { which: k-no, ")
    assert seen(lab, steps, expression.replace("'", "''"), meta=meta) == value


def test_what_is_passed_on_are_outputs_only(lab):
    ran = lab(
        LIST
        + """
- id: again
  type: tool
  tool: lab
  for_each: { as: one, over: "{{ .loop }}" }
  inputs: { value: "{{ .one }}" }
- { id: last, type: tool, tool: lab, inputs: { value: "{{ .loop.0 | default `none` }}" } }
""",
        meta=EXITS,
    )
    assert ran.status == "completed"
    assert lab.values()[2:] == [{"value": "ok"}, {"value": "no"}, None, {"value": "ok"}]


def test_a_loop_that_has_not_run_has_a_status_and_empty_lists(lab):
    steps = """
    - { id: see, type: tool, tool: lab, inputs: { value: "{{ .step.loop.status }} {{ .loop.status }} {{ .step.loop.failed }}" } }
    - { id: loop, type: tool, tool: lab, for_each: { as: n, over: [1] } }
    """
    assert lab(steps).status == "completed"
    assert lab.values()[0] == "not_run not_run []"


def test_a_loop_that_stopped_says_which_items_did_not_run(lab):
    ran = lab(
        """
        - id: pick
          type: branch
          continue_on_fail: true
          branches:
            - condition: true
              steps:
                - { id: loop, type: tool, tool: lab, for_each: { as: n, over: [0, 1, 0] }, inputs: { exit: "{{ .n }}" } }
        - { id: see, type: tool, tool: lab, inputs: { value: "{{ .loop.0.status }} {{ .loop.1.status }} {{ .loop.2.status }}" } }
        """
    )
    assert ran.status == "completed"
    assert lab.values()[-1] == "success failed not_run"


def test_a_loop_that_could_not_begin_has_a_status(lab):
    steps = "- { id: loop, type: tool, tool: lab, continue_on_fail: true, for_each: { as: n, over: '{{ .text }}' } }"
    value = seen(lab, steps, "{{ .loop.status }} {{ .step.loop.failed }}", meta="constants: { text: '{{ .t }}', t: 5 }")
    assert value == "error []"


def test_an_item_called_status_is_found_before_the_status_of_its_loop(lab):
    steps = "- { id: loop, type: tool, tool: lab, for_each: { as: n, over: [status, x], key: '{{ .n }}' }, inputs: { value: '{{ .n }}' } }"
    assert seen(lab, steps, "{{ .loop.status.value }} {{ .step.loop.status }}") == "status success"


@pytest.mark.parametrize(
    "steps",
    [
        "- { id: r, type: repeat, repeat: { max: 2 }, steps: [ { id: inner, type: tool, tool: lab } ] }\n",
        "- { id: r, type: branch, for_each: { as: n, over: [1] }, branches: [ { condition: true, steps: [ { id: inner, type: tool, tool: lab } ] } ] }\n",
    ],
)
def test_a_step_inside_a_loop_is_readable_only_there(lab, steps):
    reading = "{ id: x, type: tool, tool: lab, inputs: { value: '{{ .inner.status }}' } }"
    for text in (
        f"{steps}- {reading}",
        f"- {reading}\n{steps}",
        f"{steps}- {reading.replace('.inner', '.step.inner')}",
    ):
        assert rules(lab, text) == UNRESOLVED
    inside = steps.replace("{ id: inner,", f"{reading}, {{ id: inner,")
    assert rules(lab, inside) == []
    assert lab(inside).status == "completed"
    # The second round of a repeat sees the first one until the step has run again.
    assert set(lab.values()) == ({"not_run", "success", None} if "repeat" in steps else {"not_run", None})


def test_a_constant_cannot_read_a_status(lab):
    assert rules(lab, ONE, meta="constants: { c: '{{ .a.status }}' }") == UNRESOLVED


# -- names of their own ------------------------------------------------------------------------------------------------

CLASH = tool("clash", outputs="{ status: { type: any }, retry_count: { type: any } }")
CALL = "- { id: c, type: tool, tool: clash, inputs: { outputs: { status: up, retry_count: many } } }\n"


def test_an_output_called_status_leaves_the_steps_own_at_its_own_place(lab):
    expression = "{{ .c.status }} {{ .step.c.status }} {{ .c.retry_count }} {{ .step.c.retry_count }} {{ .status }}"
    assert seen(lab, CALL, expression, tools=CLASH) == "up success many 0 up"


def test_an_output_called_status_is_warned_about_once(lab):
    found = rules(lab, CALL + CALL.replace("id: c", "id: d"), tools=CLASH)
    assert found == [("reserved-name", "warning"), ("reserved-name", "warning")], "one for each output"


def test_an_output_called_status_is_spread_and_the_steps_own_is_not(lab):
    taking = tool("taking").copy()
    taking["tools/taking.tool.yaml"] = taking["tools/taking.tool.yaml"].replace(
        "value: { type: any }\n", "value: { type: any }\n    status: { type: any }\n    retry_count: { type: any }\n", 1
    )
    ran = lab(CALL + "- { id: t, type: tool, tool: taking, inputs_from: c }", tools=CLASH | taking)
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    assert lab.calls[-1].inputs["status"] == "up"


# -- what validation used to let through -------------------------------------------------------------------------------


def test_constants_may_use_what_is_known_about_the_run(lab):
    meta = "constants: { who: '{{ .run.actor }} {{ .run.mode }} {{ .run.runbook }}', id: '{{ .run.id }}' }"
    ran = lab("- { id: a, type: tool, tool: lab, inputs: { value: '{{ .who }}/{{ .id }}' } }", meta=meta)
    assert lab.values() == [f"tester real lab/{ran.result.run_id}"]
    assert ran.of("run_start")[0]["constants"]["id"] == ran.result.run_id
    assert rules(lab, ONE, meta="constants: { who: '{{ .run.acter }}' }") == UNRESOLVED


@pytest.mark.parametrize("key", ["name", "x-{{ .host }}"])
def test_a_key_that_is_the_same_for_every_item_is_an_error(lab, key):
    steps = f"- {{ id: a, type: tool, tool: lab, for_each: {{ as: n, over: [1, 2], key: '{key}' }} }}"
    assert rules(lab, steps, meta="constants: { host: srv }") == [("for-each-shape", "error")]


def test_a_key_of_one_item_may_be_any_text(lab):
    steps = "- { id: a, type: tool, tool: lab, for_each: { as: n, over: [1], key: only } }"
    assert seen(lab, steps, "{{ .a.only.status }}") == "success"


# -- resume ------------------------------------------------------------------------------------------------------------


def test_a_resumed_run_sees_the_same_statuses(lab):
    text = (
        KEYED
        + ARMS
        + """
- id: again
  type: branch
  branches: [ { condition: true, steps: [ { id: work, type: tool, tool: lab, inputs: { value: "{{ .work.status }}{{ .again.status }}" } } ] } ]
- { id: back, type: tool, tool: lab, next: { step: again, max: 1 } }
- { id: see, type: tool, tool: lab, inputs: { value: "{{ .loop.status }} {{ .step.loop.failed }} {{ .loop.k-no.failure.kind }} {{ .loop.k-out.status }} {{ .other.status }} {{ .guarded.status }}" } }
"""
    )
    ran = lab(text, meta=EXITS)
    told = lab.values()[-1]
    assert told == 'failed ["k-no"] exit_code skipped not_run skipped'
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines), 3):
        ran.result.trace.write_bytes(b"".join(lines[:count]))
        again = lab.runner.resume(ran.result.run_id)
        assert again.status == "completed", count
        assert again.of("step_start", "see")[-1]["inputs"] == {"value": told}
        works = [again.of("step_start", key)[-1]["inputs"]["value"] for key in ("again/0/work", "again#2/0/work")]
        assert works == ["not_runrunning"] * 2


# -- fields and the run -------------------------------------------------------------------------------------------------

CODES = """
- { id: ok, type: tool, tool: lab }
- { id: no, type: tool, tool: lab, continue_on_fail: true, inputs: { exit: 3 } }
- { id: cut, type: tool, tool: lab, continue_on_fail: true, timeout: 10ms, inputs: { pause: 5 } }
- { id: guarded, type: tool, tool: lab, when: false }
- { id: checked, type: assert, when: false, assert: [ { type: equals, value: 1, expected: 1 } ] }
- { id: each, type: tool, tool: lab, continue_on_fail: true, when: '{{ ne .n 9 }}', for_each: { as: n, over: [0, 4, 9] }, inputs: { exit: "{{ .n }}" } }
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{{ .ok.exit_code }}", 0),
        ("{{ .step.no.exit_code }}", 3),
        ("{{ no.exit_code == 3 and ok.exit_code == 0 }}", True),
        ("{{ .cut.exit_code }}", None),
        ("{{ .guarded.exit_code }}", None),
        ("{{ .checked.passed }}", None),
        ('{{ .guarded.exit_code | default "none" }}', "none"),
        ("{{ .each.0.exit_code }}{{ .each.1.exit_code }}", "04"),
        ("{{ .each.2.exit_code }}", None),
        ("{{ toJson .each.1 }}", '{"value":null}'),
    ],
)
def test_a_tool_step_has_its_exit_code_and_null_before_there_is_one(lab, expression, value):
    assert seen(lab, CODES, expression.replace("'", "''")) == value


def test_an_exit_code_is_known_again_after_a_resume(lab):
    ran = lab(
        CODES + "- { id: see, type: tool, tool: lab, inputs: { value: '{{ .no.exit_code }}{{ .each.1.exit_code }}' } }"
    )
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"step_key":"see"' in line)
    ran.result.trace.write_bytes(b"".join(lines[:cut]))
    again = lab.runner.resume(ran.result.run_id)
    assert again.of("step_start", "see")[-1]["inputs"] == {"value": "34"}


def test_an_output_called_exit_code_leaves_the_steps_own_at_its_own_place(lab):
    tools = tool("clash", outputs="{ exit_code: { type: string } }")
    call = "- { id: c, type: tool, tool: clash, continue_on_fail: true, inputs: { exit: 2, outputs: { exit_code: two } } }\n"
    assert seen(lab, call, "{{ .c.exit_code }} {{ .step.c.exit_code }} {{ .exit_code }}", tools=tools) == "two 2 two"
    assert rules(lab, call, tools=tools) == [("reserved-name", "warning")]


def test_the_time_of_the_start_is_fixed(lab):
    steps = "- { id: see, type: tool, tool: lab, inputs: { value: '{{ .run.started }} {{ .began }}' } }"
    ran = lab(steps, meta="constants: { began: '{{ .run.started }}' }")
    started = ran.of("run_start")[0]["started"]
    assert lab.values() == [f"{started} {started}"]
    assert rules(lab, ONE, meta="constants: { when: '{{ .run.start }}' }") == UNRESOLVED
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    ran.result.trace.write_bytes(lines[0])
    again = lab.runner.resume(ran.result.run_id)
    assert again.of("step_start", "see")[-1]["inputs"] == {"value": f"{started} {started}"}


def test_every_replay_begins_at_the_same_time(lab):
    scenario = ScenarioModel.model_validate({"steps": {"see": {"outputs": {"value": "x"}}}})
    ran = lab(
        "- { id: see, type: tool, tool: lab, inputs: { value: '{{ .run.started }}' } }",
        mode="replay",
        scenario=scenario,
    )
    assert ran.of("step_start", "see")[0]["inputs"] == {"value": "2000-01-01T00:00:00.000000Z"}
