"""Hints that spell a value anew, followed to the letter: exports, artifacts, secrets, loops, bounds, empty texts."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: echo, transport: stdio }
contract:
  effects: [network]
  idempotent: true
  inputs: { n: {} }
  outputs: { said: { type: string }, body: { type: object } }
actions: { do: { argv: ["echo", "{{ .n }}"], extract: { said: { from: stdout }, body: { from: json, path: body } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b, inputs: { word: { type: string }, all: { type: list } } }\n"
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"
STEP = "  - { id: a, type: tool, tool: echo, inputs: { n: x }, FIELD }\n"
ASK = "  - { id: a, type: approval, FIELD }\n"


class Validator:
    """A directory with one tool, in which runbooks are validated."""

    def __init__(self, root):
        self.root = root
        (root / "tools").mkdir()
        (root / "tools" / "echo.tool.yaml").write_text(TOOL)

    def __call__(self, steps, *, head=HEAD):
        text = f"{head}tools: [echo]\nsteps:\n{steps}{END}"
        (self.root / "book.yaml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "gert_core", "validate", "book.yaml", "--json"]
        env = {"TOKEN": "a-secret-of-some-length"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.root, env=env)
        return json.loads(done.stdout)["diagnostics"]


@pytest.fixture
def validate(tmp_path):
    return Validator(tmp_path)


def code_in(hint):
    """The pieces of code in a hint."""
    return re.findall(r"`([^`]*)`", hint)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("export: [{nn: said}]", "export: {nn: said}"),
        ("export: [body, {nn: said}]", "export: {body: body, nn: said}"),
        ('export: {x: "{{ .said }}"}', "export: {x: said}"),
        ('export: {x: "{{ .a.said }}", at: .body.at}', "export: {x: said, at: body.at}"),
        ("export: {x: .said}", "export: {x: said}"),
        ("export: {x: [said]}", "export: {x: said}"),
        ('export: ["{{ .said }}"]', "export: [said]"),
        ('export: "{{ .said }}"', "export: [said]"),
        ("export: [body.at]", "export: {at: body.at}"),
        ("artifacts: [{path: out/a.txt}]", "artifacts: [out/a.txt]"),
        ("artifacts: [{path: out.txt}, b.txt]", "artifacts: [out.txt, b.txt]"),
        ("artifacts: [{name: log, path: out.txt}]", "artifacts: {log: {path: out.txt}}"),
    ],
)
def test_exports_and_artifacts_in_another_shape_are_spelled_out(validate, wrong, right):
    found = validate(STEP.replace("FIELD", wrong))
    assert {(one["rule"], one["hint"]) for one in found} == {("wrong-type", f"write `{right}`")}
    assert "pattern" not in found[0]["message"]
    assert validate(STEP.replace("FIELD", right)) == []


def test_an_input_that_is_called_as_a_field_of_steps_is_no_such_field(validate):
    head = HEAD.replace("word: { type: string }", 'export: { required: "yes" }')
    assert [one["hint"] for one in validate("", head=head)] == ["write true"]


@pytest.mark.parametrize(
    "secrets", ["{token: {env: TOKEN}}", "{token: TOKEN}", "{env: TOKEN}", "[{name: TOKEN}]", "[{name: t, env: TOKEN}]"]
)
def test_secrets_are_a_list_of_environment_variables(validate, secrets):
    head = HEAD.replace("name: b", f"name: b, secrets: {secrets}")
    hints = [one["hint"] for one in validate("", head=head)]
    expected = {
        "[{name: TOKEN}]": ["write it as `env`"],
        "[{name: t, env: TOKEN}]": ["remove it: `env` is there already"],
    }
    assert hints == expected.get(secrets, ["write `secrets: [{env: TOKEN}]`"])
    assert validate("", head=head.replace(secrets, "[{env: TOKEN}]")) == []


@pytest.mark.parametrize(
    ("wrong", "hints", "right"),
    [
        ('{as: x, in: "{{ .all }}"}', {"write it as `over`"}, '{as: x, over: "{{ .all }}"}'),
        (
            '{var: x, items: "{{ .all }}"}',
            {"write it as `as`", "write it as `over`"},
            '{as: x, over: "{{ .all }}"}',
        ),
        (
            '{over: "{{ .all }}"}',
            {"add `as: item`: the variable that holds the item"},
            '{as: item, over: "{{ .all }}"}',
        ),
    ],
)
def test_a_loop_is_told_what_its_fields_are_called(validate, wrong, hints, right):
    step = STEP.replace("FIELD", f"for_each: {wrong}")
    assert {one["hint"] for one in validate(step)} == hints
    assert validate(step.replace(wrong, right)) == []


@pytest.mark.parametrize(
    ("step", "wrong", "hint", "right"),
    [
        (ASK, "message: m, min_approvers: 0", "write `min_approvers: 1`, or more", "message: m, min_approvers: 1"),
        (ASK, 'message: ""', "write a text: what is to be approved, shown to the approvers", "message: Go on?"),
        (ASK, "message: m, approvers: []", "remove it, or write at least one item", "message: m"),
        (
            ASK,
            "message: m, on_reject: continue",
            "write `on_reject: fail` and, beside it, `continue_on_fail: true`",
            "message: m, on_reject: fail, continue_on_fail: true",
        ),
        (ASK, "message: m, on_reject: abort", "write `on_reject: deny`", "message: m, on_reject: deny"),
        (STEP, "retry: {max: 0}", "write `max: 1`, or more", "retry: {max: 1}"),
        (
            STEP,
            'retry: {max: "{{ .word }}"}',
            "write a number, such as `max: 3`: no template is filled in here",
            "retry: {max: 3}",
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_answered_with_one_that_is(validate, step, wrong, hint, right):
    (found,) = validate(step.replace("FIELD", wrong))
    assert (found["rule"], found["hint"]) == ("wrong-type", hint)
    assert all(code in right for code in code_in(hint))
    assert validate(step.replace("FIELD", right)) == []


@pytest.mark.parametrize(("values", "kind"), [("[a, b]", "string"), ("[1, 2]", "int"), ("[1.5, 2.5]", "float")])
@pytest.mark.parametrize("words", [("enum", "enum"), ("choice", "options")])
def test_a_choice_is_the_type_of_its_values_with_an_enum(validate, values, kind, words):
    head = HEAD.replace("type: string", f"type: {words[0]}, {words[1]}: {values}")
    hints = [one["hint"] for one in validate("", head=head)]
    assert hints == [f"write `{kind}`", "write it as `enum`"][: 1 if words[1] == "enum" else 2]
    assert validate("", head=HEAD.replace("type: string", f"type: {kind}, enum: {values}")) == []


# -- what steps have to export, and what they export already ----------------------------------------------------

CHILD = "apiVersion: kernel/v0\nmeta: { name: child }\nsteps:\n  - { type: end, outcome: OUTCOME }\n"
CALL = "  - { id: sub, type: runbook, runbook: child.yaml, FIELD }\n"


@pytest.mark.parametrize(
    ("step", "wrong", "right"),
    [
        (CALL, "export: [used]", "export: {used: outcome.meta.used}"),
        (CALL, "export: {spent: used, x: outcome}", "export: {spent: outcome.meta.used, x: outcome}"),
        (CALL, "export: [unknown]", "export: {sub_outcome: outcome}"),
        (STEP, "export: {said: nn}", "export: {nn: said}"),
        (STEP, "export: {body: body, said: nn}", "export: {body: body, nn: said}"),
    ],
)
def test_an_export_of_something_else_is_answered_with_the_one_that_was_meant(validate, step, wrong, right):
    outcome = "{ category: resolved, meta: { used: '5' } }"
    (validate.root / "child.yaml").write_text(CHILD.replace("OUTCOME", outcome))
    (found,) = validate(step.replace("FIELD", wrong))
    assert found["rule"] == "export-undeclared"
    assert code_in(found["hint"])[-1] == right
    assert validate(step.replace("FIELD", right)) == []


def test_a_reader_after_a_loop_is_told_the_name_that_is_exported_already(validate):
    loop = STEP.replace("FIELD", "for_each: {as: x, over: [1, 2]}, export: {every: said}")
    read = '  - { id: b, type: tool, tool: echo, scope: b, inputs: { n: "{{ toJson .said }}" } }\n'
    (found,) = validate(loop + read)
    assert found["hint"] == "read `.every`: `a` exports it under that name, one for each item"
    assert validate(loop + read.replace(".said", ".every")) == []
    inside = STEP.strip().removeprefix("- ").replace("FIELD", "export: {newest: said}")
    loop = f"  - {{ id: r, type: repeat, repeat: {{ max: 2 }}, steps: [ {inside} ] }}\n"
    for name in (".said", ".a.said"):
        (found,) = validate(loop + read.replace(".said", name))
        assert found["hint"] == "read `.newest`: `a` exports it under that name"
    assert [one["rule"] for one in validate(loop + read.replace(".said", ".newest"))] == []


# -- templates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "right"),
    [
        ("finished", "\"{{ eq .said 'finished' }}\""),
        ("said", '"{{ .said }}"'),
        (".said", '"{{ .said }}"'),
    ],
)
def test_a_condition_of_one_word_is_a_variable_or_compared_with_one(validate, until, right):
    look = STEP.strip().removeprefix("- ").replace(", FIELD", "")
    wait = f"  - {{ id: w, type: wait, timeout: 1m, until: UNTIL, steps: [ {look} ] }}\n"
    (found,) = validate(wait.replace("UNTIL", until))
    assert found["rule"] == "condition-not-expression"
    assert found["hint"].endswith(right)
    assert validate(wait.replace("UNTIL", right)) == []


@pytest.mark.parametrize(
    ("call", "right"),
    [
        ("where .all", "where .items 'field' 'value'"),
        ("date .word", "date '%Y-%m-%d' .run.started"),
        ("split .word", "split ',' .text"),
        ("replace .word", "replace 'old' 'new' .text"),
    ],
)
def test_a_call_with_too_few_arguments_is_shown_how_it_is_made(validate, call, right):
    step = STEP.replace("n: x", 'n: "{{ toJson (CALL) }}"').replace(", FIELD", "")
    (found,) = validate(step.replace("CALL", call))
    assert found["hint"] == f"write it like `{right}`"
    own = right.replace(".items", ".all").replace(".text", ".word")
    assert validate(step.replace("CALL", own)) == []


@pytest.mark.parametrize("template", ["{{ for x in .all }}", "{{ for x in all }}"])
def test_a_loop_in_a_template_is_sent_to_for_each(validate, template):
    (found,) = validate(STEP.replace("n: x", f"n: '{template}'").replace(", FIELD", ""))
    assert "write `for_each` for a step per item" in found["hint"]


@pytest.mark.parametrize("wrong", ["99999999999999d", "99999999999999 days", "0 minutes", "10 minutes"])
def test_a_hint_about_a_duration_is_one(validate, wrong):
    steps = "  - {{ id: w, type: wait, for: {} }}\n"
    (found,) = validate(steps.format(wrong))
    assert found["rule"] == "duration-syntax"
    assert validate(steps.format(code_in(found["hint"])[0])) == []
