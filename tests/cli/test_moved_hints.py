"""Fields in another place than theirs, and words of other tools for them: the hint, followed to the letter, mends the document."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: echo, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { n: { required: true } }, outputs: { out: { type: string } } }
actions: { do: { argv: ["echo", "{{ .n }}"], extract: { out: { from: stdout } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b, inputs: { word: { default: a } } }\ntools: [echo]\n"
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"
CHILD = "apiVersion: kernel/v0\nmeta: { name: c, inputs: { n: { required: true } } }\nsteps:\n" + END


@pytest.fixture
def hints(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "echo.tool.yaml").write_text(TOOL)
    (tmp_path / "child.yaml").write_text(CHILD)

    def found(steps, *, head=HEAD):
        (tmp_path / "book.yaml").write_text(f"{head}steps:\n{steps}{END}")
        command = [sys.executable, "-m", "gert_core", "validate", "book.yaml", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        return [one["hint"] for one in json.loads(done.stdout)["diagnostics"]]

    return found


STEP = "  - { id: a, type: tool, tool: echo, inputs: { n: x }%s }\n"


@pytest.mark.parametrize(
    ("owner", "inside", "field"),
    [
        ("for_each", "as: w, over: [a]", "continue_on_fail: true"),
        ("for_each", "as: w, over: [a]", "when: '{{ eq .w `a` }}'"),
        ("retry", "max: 3", "timeout: 5s"),
    ],
)
def test_a_field_of_the_step_is_moved_out_of_its_map(hints, owner, inside, field):
    (hint,) = hints(STEP % f", {owner}: {{ {inside}, {field} }}")
    assert hint == f"move `{field.partition(':')[0]}` out of `{owner}`, to the step"
    assert hints(STEP % f", {owner}: {{ {inside} }}, {field}") == []


def test_steps_of_a_block_are_moved_out_of_its_loop(hints):
    wait = "steps: [ { id: w, type: wait, for: 1s } ]"
    found = hints(f"  - {{ id: g, type: block, for_each: {{ as: w1, over: [a], {wait} }} }}\n")
    assert "move `steps` out of `for_each`, to the step" in found
    assert hints(f"  - {{ id: g, type: block, for_each: {{ as: w1, over: [a] }}, {wait} }}\n") == []


def test_a_field_of_the_step_is_moved_out_of_inputs(hints):
    (hint,) = hints(STEP.replace("n: x", "n: x, timeout: 5s") % "")
    assert hint == "move `timeout` out of `inputs`, to the step"
    assert hints(STEP % ", timeout: 5s") == []


def test_a_jump_has_no_condition_of_its_own(hints):
    (hint,) = hints(STEP % ", next: { step: done, when: true }")
    assert hint == "known fields: max, step"


@pytest.mark.parametrize(
    ("field", "hint", "meta"),
    [
        ("inputs: { b: { type: int } }", "move `inputs` into `meta`", "inputs: { b: { type: int } }"),
        (
            "parameters: { b: { type: int } }",
            "move `parameters` into `meta`, as `inputs`",
            "inputs: { b: { type: int } }",
        ),
        ("vars: { b: 1 }", "move `vars` into `meta`, as `constants`", "constants: { b: 1 }"),
        ("description: words", "move `description` into `meta`", "description: words"),
    ],
)
def test_a_field_of_the_head_is_moved_into_it(hints, field, hint, meta):
    head = "apiVersion: kernel/v0\nmeta: { name: b%s }\n"
    assert hints("", head=head % "" + field + "\n") == [hint]
    assert hints("", head=head % f", {meta}") == []


@pytest.mark.parametrize("word", ["with", "args", "params", "parameters", "arguments"])
@pytest.mark.parametrize("step", [STEP % "", "  - { id: a, type: runbook, runbook: ./child.yaml, inputs: { n: x } }\n"])
def test_inputs_by_another_name_are_one_finding(hints, word, step):
    assert hints(step.replace("inputs:", f"{word}:")) == ["write it as `inputs`"]
    assert hints(step) == []


@pytest.mark.parametrize("word", ["do", "then"])
@pytest.mark.parametrize(
    "step", ["type: block", "type: repeat, repeat: { max: 2 }", "type: wait, timeout: 1m, until: true"]
)
def test_steps_by_another_name_are_steps_where_the_type_has_some(hints, word, step):
    text = f"  - {{ id: g, {step}, {word}: [ {{ id: w, type: wait, for: 1s }} ] }}\n"
    assert hints(text) == ["write it as `steps`"]
    assert hints(text.replace(f"{word}:", "steps:")) == []


ARMS = (
    "  - id: b\n    type: branch\n    if: '{{ eq .word `a` }}'\n"
    "    then: [ { id: x, type: wait, for: 1s } ]\n    else: [ { id: y, type: wait, for: 2s } ]\n"
)


def test_what_belongs_to_the_arms_of_a_branch_is_moved_into_them(hints):
    assert hints(ARMS) == [
        "add `branches`: the arms, in the order their conditions are evaluated",
        "move it into an item of `branches`",
        "move it into an item of `branches`, as `steps`",
        "move it into an item of `branches`",
    ]
    arms = "    branches:\n      - { if: '{{ eq .word `a` }}', steps: [ { id: x, type: wait, for: 1s } ] }\n"
    arms += "      - { condition: default, steps: [ { id: y, type: wait, for: 2s } ] }\n"
    moved = ARMS.partition("    if:")[0] + arms
    assert hints(moved) == ["write it as `condition`"]
    assert hints(moved.replace("if:", "condition:")) == []


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("for_each", "write `for_each: {as: item, over: [...]}` in a step of any type"),
        ("for", "write `for_each: {as: item, over: [...]}` in a step of any type"),
        ("retry", "write `retry` as a field of a step of another type"),
        ("finally", "use `finally` of a step of type `block`"),
        ("nodes", "use `nodes` of a step of type `dag`"),
    ],
)
def test_a_field_is_no_type_that_a_distribution_provides(hints, word, hint):
    assert hints(f"  - {{ id: a, type: {word} }}\n") == [hint]


CALLS = {
    "tool": "  - { id: a, type: tool, tool: echo, action: do, inputs: { n1: x } }\n",
    "runbook": "  - { id: a, type: runbook, runbook: ./child.yaml, inputs: { n1: x } }\n",
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_misspelled_input_leaves_none_missing(hints, kind):
    assert hints(CALLS[kind]) == ["did you mean `n`?"]
    assert hints(CALLS[kind].replace("n1", "n")) == []
    both = hints(CALLS[kind].replace("n1: x", "n1: x, n: x"))
    assert both == ["its inputs: `n`"]


@pytest.mark.parametrize("field", ["tool", "action", "inputs", "type"])
def test_a_misspelled_field_leaves_none_missing(hints, field):
    step = CALLS["tool"].replace("n1", "n")
    (hint,) = hints(step.replace(f"{field}:", f"{field[0]}{field}:"))
    assert hint in (f"did you mean `{field}`?", f"rename `{field[0]}{field}` to `{field}`")
    assert hints(step) == []
