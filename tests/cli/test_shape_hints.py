"""Hints about approvals, cleanup and lists of maps, followed to the letter: the document is valid then."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: echo, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { n: {} }, outputs: { out: { type: string } } }
actions: { do: { argv: ["echo", "{{ .n }}"], extract: { out: { from: stdout } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b }\n"
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"
STEP = "  - { id: a, type: tool, tool: echo, inputs: { n: x } }\n"


class Validator:
    """A directory with one tool, in which documents are validated."""

    def __init__(self, root):
        self.root = root
        (root / "tools").mkdir()
        (root / "tools" / "echo.tool.yaml").write_text(TOOL)

    def __call__(self, text, name="book.yaml"):
        (self.root / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "gert_core", "validate", name, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.root)
        return json.loads(done.stdout)["diagnostics"]

    def only(self, text, name="book.yaml"):
        """The only finding, its rule and its hint."""
        (found,) = self(text, name)
        return found["rule"], found["hint"]


@pytest.fixture
def validate(tmp_path):
    return Validator(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("prompt: Go on?", "message: Go on?"),
        ("message: Go on?, expires: 1h", "message: Go on?, timeout: 1h"),
        ("message: Go on?, MinRequiredApprovals: 2", "message: Go on?, min_approvers: 2"),
    ],
)
def test_an_approval_is_told_what_its_fields_are_called(validate, wrong, right):
    text = f"{HEAD}steps:\n  - {{ id: ok, type: approval, {wrong} }}\n{END}"
    hints = [found["hint"] for found in validate(text) if found["rule"] == "unknown-field"]
    assert hints == [f"write it as `{right.rsplit(', ', 1)[-1].partition(':')[0]}`"]
    assert validate(text.replace(wrong, right)) == []


def test_more_approvers_than_people_are_answered_with_a_number_that_works(validate):
    text = f"{HEAD}steps:\n  - {{ id: ok, type: approval, message: m, approvers: [bob], min_approvers: 2 }}\n{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("wrong-type", "write `min_approvers: 1`, or name more people")
    assert validate(text.replace("min_approvers: 2", "min_approvers: 1")) == []


@pytest.mark.parametrize("field", ["on_failure", "finally"])
def test_cleanup_of_a_single_step_goes_to_a_block_around_it(validate, field):
    clean = STEP.replace("id: a", "id: b").strip().removeprefix("- ")
    step = STEP.strip().removeprefix("- ")
    wrong = step.removesuffix(" }") + f", {field}: [ {clean} ] }}"
    rule, hint = validate.only(f"{HEAD}tools: [echo]\nsteps:\n  - {wrong}\n{END}")
    assert (rule, hint) == (
        "unknown-field",
        f"put this step under `steps` of a step of type `block`, and `{field}` beside them",
    )
    block = f"  - {{ id: g, type: block, steps: [ {step} ], {field}: [ {clean} ] }}\n"
    assert validate(f"{HEAD}tools: [echo]\nsteps:\n{block}{END}") == []


def test_a_list_of_maps_is_not_spelled_as_one_of_words(validate):
    block = "  - { id: g, type: block, steps: [ { id: ok, type: approval, message: m } ], on_failure: ok }\n"
    rule, hint = validate.only(f"{HEAD}steps:\n{block}{END}")
    assert (rule, hint) == ("wrong-type", "write a list of maps: begin each with `- `, and write its fields")


@pytest.mark.parametrize(
    ("head", "below", "key"),
    [
        ("- { id: m, type: manual, instructions: Look. }", "required_evidence", "name"),
        ("- { id: d, type: dag }", "nodes", "name"),
        ("- { id: g, type: block }", "steps", "id"),
    ],
)
def test_a_map_by_name_is_answered_with_the_field_that_names_the_items(validate, head, below, key):
    inside = {
        "required_evidence": "kind: text",
        "nodes": "steps: [ { id: ok, type: approval, message: m } ]",
        "steps": "type: approval\n        message: m",
    }[below]
    plain = head.replace("- { ", "  - ").replace(" }", "").replace(", ", "\n    ")
    text = f"{HEAD}steps:\n{plain}\n    {below}:\n      x:\n        {inside}\n{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("wrong-type", f"write a list: begin each item with `- {key}: x` instead of `x:`")
    assert validate(text.replace("      x:\n", f"      - {key}: x\n")) == []


def test_one_exit_code_is_put_into_a_list(validate):
    tool = TOOL.replace("{ argv:", "{ exit_codes: 0, argv:")
    rule, hint = validate.only(tool, "codes.tool.yaml")
    assert (rule, hint) == ("wrong-type", "write a list: [0]")
    assert validate(tool.replace("exit_codes: 0", "exit_codes: [0]"), "codes.tool.yaml") == []


CALL = "  - {{ id: a, type: tool, tool: echo, inputs: {} }}\n"
BRANCH = "  - {{ id: p, type: parallel, branches: [ {}, {} ] }}\n"
WAITS = ("{ id: x, type: wait, for: 1s }", "{ id: y, type: wait, for: 1s }")


@pytest.mark.parametrize("written", ["[{ n: x }]", '["n=x"]', "[{ name: n, value: x }]", '["n: x"]'])
def test_inputs_in_a_list_are_a_map(validate, written):
    head = f"{HEAD}tools: [echo]\nsteps:\n"
    rule, hint = validate.only(head + CALL.format(written) + END)
    assert (rule, hint) == ("wrong-type", "write `inputs: {n: x}`")
    assert validate(head + CALL.format("{n: x}") + END) == []


def test_pairs_that_are_no_words_are_spelled_in_quotes(validate):
    head = f"{HEAD}tools: [echo]\nsteps:\n"
    written = """[{ name: n, value: "{{ .run.mode }}" }]"""
    _, hint = validate.only(head + CALL.format(written) + END)
    assert hint == """write `inputs: {n: "{{ .run.mode }}"}`"""
    assert validate(head + CALL.format(hint.removeprefix("write `inputs: ").removesuffix("`")) + END) == []
    _, hint = validate.only(head + CALL.format("[1, 2]") + END)
    assert hint == "write a map: a name in front of each value, instead of `- `"


@pytest.mark.parametrize(
    ("written", "right"),
    [("[a, b]", "{a: {}, b: {}}"), ("[{ name: a, type: int, default: 3 }]", "{a: {type: int, default: 3}}")],
)
def test_declared_inputs_in_a_list_are_a_map(validate, written, right):
    text = f"apiVersion: kernel/v0\nmeta: {{ name: b, inputs: {written} }}\nsteps:\n{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("wrong-type", f"write `inputs: {right}`")
    assert validate(text.replace(written, right)) == []


def test_steps_in_a_list_of_their_own_are_put_under_steps(validate):
    lists, maps = (BRANCH.format(*(shape % one for one in WAITS)) for shape in ("[ %s ]", "{ steps: [ %s ] }"))
    found = validate(f"{HEAD}steps:\n{lists}{END}")
    assert [one["hint"] for one in found] == ["write a map: {steps: [...]}"] * 2
    assert validate(f"{HEAD}steps:\n{maps}{END}") == []
    node = f"  - {{ id: d, type: dag, nodes: [ [ {WAITS[0]} ] ] }}\n"
    assert validate.only(f"{HEAD}steps:\n{node}{END}")[1] == "write a map: {name: ..., steps: [...]}"


@pytest.mark.parametrize(
    ("written", "hint", "right"),
    [
        ("visibility: [release]", "write a map: its fields are `allow`, `deny`", "visibility: { allow: [release] }"),
        ("next: [done]", "leave the `- `, or the `[` and `]`, out", "next: done"),
        ("contract: [{ writes: [x] }]", "leave the `- `, or the `[` and `]`, out", "contract: { writes: [x] }"),
    ],
)
def test_fields_in_a_list_are_a_map(validate, written, hint, right):
    step = f"  - {{ id: m, type: manual, instructions: Look., {written} }}\n"
    assert validate.only(f"{HEAD}steps:\n{step}{END}") == ("wrong-type", hint)
    assert validate(f"{HEAD}steps:\n{step.replace(written, right)}{END}") == []


@pytest.mark.parametrize(
    "written", ["{ echo: ./tools/echo.tool.yaml }", "{ echo: { path: ./tools/echo.tool.yaml } }", "{ echo: }"]
)
def test_tools_by_name_are_a_list(validate, written):
    text = f"{HEAD}tools: {written}\nsteps:\n{STEP}{END}"
    rule, hint = validate.only(text)
    assert rule == "wrong-type"
    assert validate(text.replace(written, hint.removeprefix("write a list: "))) == []


@pytest.mark.parametrize("written", ["{ name: echo }", "{ name: echo, path: ./tools/echo.tool.yaml }"])
def test_a_tool_is_a_name_or_a_path(validate, written):
    text = f"{HEAD}tools: [{written}]\nsteps:\n{STEP}{END}"
    rule, hint = validate.only(text)
    assert rule == "wrong-type"
    assert validate(text.replace(written, hint.removeprefix("write "))) == []


def test_what_is_wrong_inside_a_field_by_another_name_is_found_in_its_place(validate):
    step = "  - id: b\n    type: branch\n    cases:\n      - { when: false, steps: [] }\n      - { condition: default, setps: [] }\n"
    found = [(one["line"], one["column"], one["hint"]) for one in validate(f"{HEAD}steps:\n{step}{END}")]
    assert found == [
        (6, 5, "write it as `branches`"),
        (7, 11, "write it as `condition`"),
        (8, 31, "did you mean `steps`?"),
    ]
    mended = step.replace("cases", "branches").replace("when", "condition").replace("setps", "steps")
    assert validate(f"{HEAD}steps:\n{mended}{END}") == []
