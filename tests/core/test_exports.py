"""Exports: under their own or another name, what they collide with, and what they replace."""

from __future__ import annotations

from textwrap import dedent

import pytest
from lab import Lab, tool

from gert_core.api import DocumentError
from gert_core.validation import validate_runbook

TWO = tool("two", outputs="{ value: { type: any, required: false }, data: { type: any, required: false } }")


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def seen(lab, steps, expression, **options):
    """The value of an expression after these steps."""
    ran = lab(
        f"{dedent(steps).rstrip()}\n- {{ id: see, type: tool, tool: lab, scope: z, inputs: {{ value: '{expression}' }} }}\n",
        tools=TWO,
        **options,
    )
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    return lab.calls[-1].inputs.get("value")


def findings(lab, steps, *, meta=""):
    path = lab.directory / "book.yaml"
    lab.runner.write(TWO)
    path.write_text(lab.book(steps, meta=meta, tools=TWO))
    return [(d.rule, str(d.severity)) for d in validate_runbook(path, registry=lab.runner.registry).diagnostics]


COLLISION, SHADOWED = [("export-collision", "error")], [("export-shadowed", "warning")]
DATA = "{ outputs: { value: 1, data: { a: [7, 8] } } }"


@pytest.mark.parametrize("scope", ["", "scope: s, "])
@pytest.mark.parametrize(
    ("export", "expression", "value"),
    [
        ("[value]", "{{ .value }}", 1),
        ("{ renamed: value }", "{{ .renamed }}", 1),
        ("{ value: data, other: value }", "{{ .other }} {{ .value.a.0 }}", "1 7"),
        ("{ second: data.a.1 }", "{{ .second }}", 8),
        ("{ code: exit_code }", "{{ .code }}", 0),
        ("{ gone: data.b.c }", '{{ .gone | default "none" }}', "none"),
    ],
)
def test_an_output_is_exported_under_a_name_of_its_own(lab, scope, export, expression, value):
    steps = f"- {{ id: a, type: tool, tool: two, {scope}export: {export}, inputs: {DATA} }}"
    assert seen(lab, steps, expression) == value


def test_the_trace_tells_the_new_names(lab):
    ran = lab("- { id: a, type: tool, tool: lab, export: { one: value }, inputs: { value: 5 } }")
    assert ran.of("scope_export", "a") == [{"step_id": "a", "scope": None, "exported_vars": ["one"]}]
    assert ran.result.to_json()["outputs"] == {"value": 5, "one": 5}


@pytest.mark.parametrize(("key", "value"), [("", [1, None]), (", key: 'k{{ .n }}'", {"k1": 1, "k2": None})])
@pytest.mark.parametrize("source", ["value", "data.x", "exit_code"])
def test_a_loop_exports_the_values_of_its_items(lab, key, value, source):
    inputs = "{ outputs: { value: '{{ .n }}', data: { x: '{{ .n }}' } }, exit: '{{ .n }}' }"
    steps = f"- {{ id: a, type: tool, tool: two, continue_on_fail: true, for_each: {{ as: n, over: [1, 2]{key} }}, when: '{{{{ eq .n 1 }}}}', export: {{ all: {source} }}, inputs: {inputs} }}"
    assert seen(lab, steps, "{{ .all }}") == value


def test_a_plan_knows_that_an_export_is_not_known(lab):
    steps = """
        - { id: a, type: tool, tool: two, export: { one: data.x, two: value } }
        - { id: b, type: assert, assert: [ { type: equals, value: "{{ .one }}{{ .two }}", expected: "x" } ] }
    """
    ran = lab(steps, tools=TWO, mode="dry-run")
    assert ran.steps == {"a": "success", "b": "success", "done": "success"}


def test_a_resumed_run_has_the_same_exports(lab):
    steps = """
        - { id: a, type: tool, tool: two, scope: s, export: { one: data.x, code: exit_code }, inputs: { outputs: { data: { x: 4 } } } }
        - { id: see, type: tool, tool: lab, inputs: { value: "{{ .one }} {{ .code }}" } }
    """
    ran = lab(steps, tools=TWO)
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"step_key":"see"' in line)
    ran.result.trace.write_bytes(b"".join(lines[:cut]))
    assert lab.runner.resume(ran.result.run_id).of("step_start", "see")[-1]["inputs"] == {"value": "4 0"}


# -- what is replaced, and what collides --------------------------------------------------------------------------------

ONE = "- { id: a, type: tool, tool: lab, inputs: { value: 1 } }\n"
EXPORTED = "- { id: b, type: tool, tool: lab, scope: s, inputs: { value: 2 }, export: [value] }\n"


def test_a_name_that_was_only_promoted_is_replaced(lab):
    assert findings(lab, ONE + EXPORTED) == []
    assert seen(lab, ONE + EXPORTED, "{{ .value }} {{ .a.value }}") == "2 1"


def test_a_later_promotion_replaces_an_export_with_a_warning(lab):
    assert findings(lab, EXPORTED + ONE) == SHADOWED
    assert seen(lab, EXPORTED + ONE, "{{ .value }} {{ .b.value }}") == "1 2"


def test_a_promotion_in_a_loop_does_not_replace_an_export_after_it(lab):
    loop = "- { id: r, type: repeat, repeat: { max: 1 }, steps: [ { id: a, type: tool, tool: lab, inputs: { value: 1 } } ] }\n"
    assert findings(lab, EXPORTED + loop) == []
    assert seen(lab, EXPORTED + loop, "{{ .value }}") == 2


JUMPS = ["", ", next: { step: a, max: 1 }"]


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("guard", ["", ', when: "{{ .on }}"'])
def test_two_steps_that_export_a_name_collide_with_and_without_jumps_and_guards(lab, jump, guard):
    steps = f"""
        - {{ id: a, type: tool, tool: lab, scope: s, inputs: {{ value: 1 }}, export: [value]{guard} }}
        - {{ id: b, type: tool, tool: lab, scope: t, inputs: {{ value: 1 }}, export: {{ value: exit_code }}{jump} }}
    """
    assert findings(lab, steps, meta="inputs: { on: { type: bool } }") == COLLISION


@pytest.mark.parametrize("last", ["", ", { id: stop, type: end, outcome: { category: resolved } }"])
def test_only_what_is_exported_on_a_path_that_joins_collides(lab, last):
    steps = f"""
        - id: pick
          type: branch
          branches:
            - condition: "{{{{ .on }}}}"
              steps: [ {{ id: a, type: tool, tool: lab, scope: s, export: [value] }}{last} ]
            - {{ condition: default, steps: [ {{ id: b, type: tool, tool: lab, scope: t, export: [value] }}{last} ] }}
        - {{ id: c, type: tool, tool: lab, scope: u, export: [value], when: "{{{{ .on }}}}" }}
    """
    found = [
        rule for rule in findings(lab, steps, meta="inputs: { on: { type: bool } }") if rule[0].startswith("export")
    ]
    assert found == ([] if last else COLLISION)


def test_steps_of_which_jumps_choose_one_do_not_collide(lab):
    steps = """
        - { id: first, type: tool, tool: lab, when: "{{ .on }}", next: b }
        - { id: a, type: tool, tool: lab, scope: s, inputs: { value: 1 }, export: [value], next: last }
        - { id: b, type: tool, tool: lab, scope: t, inputs: { value: 2 }, export: [value] }
        - { id: last, type: tool, tool: lab, scope: u }
    """
    meta = "inputs: { on: { type: bool, default: true } }"
    assert findings(lab, steps, meta=meta) == []
    assert seen(lab, steps, "{{ .value }}", meta=meta) == 2


@pytest.mark.parametrize("kind", ["inputs: { one: {} }", "constants: { one: 1 }"])
def test_the_new_name_collides_with_inputs_and_constants(lab, kind):
    assert findings(lab, "- { id: a, type: tool, tool: lab, export: { one: value } }", meta=kind) == COLLISION


@pytest.mark.parametrize(("name", "rule"), [("run", "reserved-name"), ("b", "name-collision")])
def test_the_new_name_is_no_built_in_one_and_no_step_s(lab, name, rule):
    steps = f"- {{ id: a, type: tool, tool: lab, export: {{ {name}: value }} }}\n- {{ id: b, type: tool, tool: lab }}"
    assert findings(lab, steps) == [(rule, "error")]


@pytest.mark.parametrize("export", ["{ one: nope }", "{ one: nope.value }", "[exit_code]"])
def test_a_source_must_be_the_step_s(lab, export):
    assert findings(lab, f"- {{ id: a, type: tool, tool: lab, export: {export} }}") == [("export-undeclared", "error")]


@pytest.mark.parametrize("export", ["value", "{ one: 1 }", "{ 1x: value }", "{ one: .value }", "{ one: null }"])
def test_other_shapes_are_refused(lab, export):
    (found,) = findings(lab, f"- {{ id: a, type: tool, tool: lab, export: {export} }}")
    assert found[1] == "error"


def test_a_loop_s_export_never_collides(lab):
    loop = "- { id: l, type: tool, tool: lab, for_each: { as: n, over: [7] }, inputs: { value: '{{ .n }}' }, export: [value] }\n"
    assert findings(lab, EXPORTED + loop) == []
    assert seen(lab, EXPORTED + loop, "{{ .value }}") == 2, "taken, so it is skipped with a warning"
    assert findings(lab, loop + EXPORTED) == []
    assert seen(lab, loop + EXPORTED, "{{ .value }}") == 2
    assert seen(lab, ONE + loop, "{{ .value }}") == [7], "only promoted, so it is replaced"


def test_collisions_stop_the_run_before_it_begins(lab):
    with pytest.raises(DocumentError):
        lab(EXPORTED + EXPORTED.replace("id: b", "id: c"))
    assert lab.calls == []
