"""Hints about words of other tools: what is meant is told, and the hint, followed to the letter, mends the document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file

TOOL = """\
apiVersion: tool/v0
meta: { name: ship, transport: stdio }
contract: { effects: [network], idempotent: true, outputs: { release: { type: string } } }
actions: { do: { argv: [echo], extract: { release: { from: stdout } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b }\ntools: [ship]\nsteps:\n"
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


@pytest.fixture
def hints(tmp_path, registry):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ship.tool.yaml").write_text(TOOL)
    path = Path(tmp_path / "book.yaml")

    def find(step, head=HEAD):
        path.write_text(f"{head}  - {step}\n{END}" if step else head + END)
        return [one.hint for one in validate_file(path, registry=registry).diagnostics]

    return find


STEP = "{ id: a, type: tool, tool: ship%s }"
REMOVED = {
    "set_fact: { x: 1 }": ", and write its values under `meta`, as `constants: {NAME: VALUE}`",
    "publish: { x: release }": ": the outputs of this step are at `.a`, such as `.a.NAME`",
    "save_as: x": ": the outputs of this step are at `.a`, such as `.a.NAME`",
    "notify: restart": ", and write the step that it names behind this one",
    "become: true": ": programs run as the user of gert, or with `sudo` in the `argv` of the tool",
    "delegate_to: web": ": programs run on the machine of gert, or with `ssh` in the `argv` of the tool",
    "changed_when: false": ": no step has the status `changed`",
    "failed_when: false": ", and write the exit codes that are answers as `exit_codes` of an action in the file of the tool",
    "no_log: true": ", and write `secret: true` at the outputs in the contract of the tool",
    "check_mode: true": ": `gert exec --mode dry-run` does that for the whole run",
    "run_once: true": ": a step without `for_each` runs once",
    "loop_control: { loop_var: x }": ": the variable of a loop is called `as` in `for_each`",
    "onCancel: Abort": ": a step that is cancelled ends the run anyway",
    "tags: [x]": ", or move it into `extensions` if another program reads it",
    "shell: echo hi": ": the file of a tool has it, as `argv` of an action",
    "command: echo hi": ": the file of a tool has it, as `argv` of an action",
    "environment: { A: b }": ": the file of a tool has it, as `env` of an action",
    "chdir: /": ": `meta` in the file of a tool has it, as `cwd`",
    "allow_failure: false": ": a step that fails ends the run anyway",
    "enabled: true": ": a step is run anyway",
    "timeoutSeconds: 60, timeout: 1m": ": `timeout` is there already",
}


@pytest.mark.parametrize("field", REMOVED)
def test_a_field_that_no_step_has_is_removed_and_the_hint_tells_where_it_goes(hints, field):
    assert hints(STEP % f", {field}") == [f"remove it{REMOVED[field]}"]
    assert hints(STEP % "".join(f",{one}" for one in field.split(",")[1:] if "timeout" in one)) == []


WRITTEN = {
    "with_dict: { a: b }": "for_each: {as: item, over: [...]}",
    "each: [1]": "for_each: {as: item, over: [...]}",
    "allow_failure: true": "continue_on_fail: true",
    "continue-on-error: true": "continue_on_fail: true",
    "on-success: done": "next: done",
    "goto: done": "next: done",
    "timeoutSeconds: 60": "timeout: 60s",
    "timeoutInSeconds: 60": "timeout: 60s",
    "timeout-minutes: 5": "timeout: 5m",
    "enabled: false": "when: false",
    "skip: true": "when: false",
    "title: Ship it": "description",
    "msg: Ship it": "description",
}


@pytest.mark.parametrize("field", WRITTEN)
def test_a_field_that_every_step_has_by_another_name_is_written_so(hints, field):
    (hint,) = hints(STEP % f", {field}")
    assert re.search(r"`(.*?)`", hint)[1] == WRITTEN[field]
    right = WRITTEN[field].replace("[...]", "[1]")
    right = right if ":" in right else f"{right}:{field.partition(':')[2]}"
    assert hints(STEP % f", {right}") == []


@pytest.mark.parametrize("word", ["condition", "only_if"])
def test_a_condition_is_called_when(hints, word):
    assert hints(STEP % f", {word}: true") == ["the field is called `when`"]
    assert hints(STEP % ", when: true") == []


def test_a_number_of_repetitions_is_max_of_the_step_around(hints):
    assert hints(STEP % ", repeat: 3") == [
        "put this step under `steps` of a step of type `repeat`, and `repeat: {max: 3}` beside them"
    ]
    around = "{ id: r, type: repeat, repeat: %s, steps: [" + STEP % "" + "] }"
    assert hints(around % "3") == ["write `repeat: {max: 3}`"]
    assert hints(around % "'3'") == ["write `repeat: {max: 3}`"]
    assert hints(around % "{max: 3}") == []
    assert hints(around % "'{{ .run.id | len }}'") == ["write `repeat: {max: '{{ .run.id | len }}'}`"]
    for condition in ("true", "'{{ true }}'", "'{{ eq .run.id 1 }}'"):
        assert hints(around % condition) == ["write `repeat: {max: ...}`"]


@pytest.mark.parametrize("value", ["30s", "1m"])
def test_a_time_below_the_name_of_a_wait_is_for(hints, value):
    assert hints(f"{{ id: a, type: wait, wait: {value} }}") == ["write it as `for`"]
    assert hints(f"{{ id: a, type: wait, wait: {value}, for: 1s }}") == ["remove it: `for` is there already"]
    assert hints(f"{{ id: a, type: wait, for: {value} }}") == []


NAMED_TWICE = {
    "manual": "instructions: Look",
    "approval": "message: Go on?",
    "dag": "nodes: [{ name: n, steps: [{ id: b, type: wait, for: 1s }] }]",
    "parallel": "branches: [{ label: n, steps: [] }, { label: m, steps: [] }]",
    "branch": "branches: [{ condition: default, steps: [{ id: b, type: wait, for: 1s }] }]",
    "end": "when: '{{ .run.id }}', outcome: { category: resolved }",
    "wait": "for: 1s",
}


@pytest.mark.parametrize("kind", NAMED_TWICE)
@pytest.mark.parametrize("value", ["true", "{ x: 1 }"])
def test_a_field_called_like_the_type_of_its_step_is_removed(hints, kind, value):
    (hint,) = hints(f"{{ id: a, type: {kind}, {NAMED_TWICE[kind]}, {kind}: {value} }}")
    assert hint.startswith("remove it: ")
    assert hints(f"{{ id: a, type: {kind}, {NAMED_TWICE[kind]} }}") == []


@pytest.mark.parametrize("kind", sorted({*NAMED_TWICE} - {"end"}))
def test_fields_below_the_type_of_their_step_are_moved_to_the_step(hints, kind):
    assert f"move its fields to the step, and remove `{kind}`" in hints(
        f"{{ id: a, type: {kind}, {kind}: {{ {NAMED_TWICE[kind]} }} }}"
    )


def test_a_list_below_the_type_of_its_step_is_the_field_called_nearly_so(hints):
    step = "{ id: a, type: branch, %s: [{ condition: default, steps: [{ id: b, type: wait, for: 1s }] }] }"
    assert hints(step % "branch") == ["write it as `branches`"]
    assert hints(step % "branches") == []


TYPES = {
    "tool": ["run", "cmd", "ansible.builtin.shell", "win_shell", "uri", "aws:runShellScript", "core.local"],
    "runbook": ["include", "include_tasks", "import_playbook", "jobref", "aws:executeAutomation"],
    "manual": ["confirm", "core.ask", "inquiry"],
    "end": ["fail", "return", "raise"],
    "branch": ["aws:branch", "if"],
    "assert": ["aws:assertAwsResourceProperty"],
    "wait": ["aws:waitForAwsResourceProperty"],
    "approval": ["aws:approve"],
    "manual` or `wait": ["aws:pause", "pause"],
}


@pytest.mark.parametrize(("word", "right"), [(word, right) for right, words in TYPES.items() for word in words])
def test_a_type_of_another_tool_is_answered_with_ours(hints, word, right):
    assert hints(f"{{ id: a, type: '{word}' }}")[0] == f"did you mean `{right}`?"


@pytest.mark.parametrize("word", ["set_fact", "ansible.builtin.set_fact", "aws:updateVariable", "set"])
def test_a_step_that_sets_variables_is_answered_with_constants(hints, word):
    (hint,) = hints(f"{{ id: a, type: '{word}' }}")
    assert hint == "remove the step, and write its values under `meta`, as `constants: {NAME: VALUE}`"
    assert hints("", HEAD.replace("name: b", "name: b, constants: {NAME: VALUE}")) == []


@pytest.mark.parametrize("word", ["debug", "ansible.builtin.debug", "print", "log"])
def test_a_step_that_shows_a_text_is_answered_with_a_description(hints, word):
    assert hints(f"{{ id: a, type: '{word}' }}") == [
        "remove the step, or write its text as `description` of another one"
    ]


def test_a_jump_is_a_field(hints):
    assert hints("{ id: a, type: goto }") == ["write `next` as a field of a step of another type"]


@pytest.mark.parametrize("word", ["parallel", "wait", "approval"])
def test_a_type_in_the_place_of_a_field_is_a_step_of_its_own(hints, word):
    assert hints(STEP % f", {word}: true") == [f"use a step of type `{word}`"]


@pytest.mark.parametrize("word", ["on-error", "errorhandler"])
def test_what_is_done_after_a_failure_is_a_field_of_a_block(hints, word):
    assert hints(STEP % f", {word}: done") == ["use `on_failure` of a step of type `block`"]


def test_the_options_of_a_checklist_are_its_items(hints):
    asked = "{ id: a, type: manual, instructions: x, required_evidence: [{ name: n, kind: checklist%s }] }"
    assert hints(asked % ", options: [x, y]") == ["rename `options` to `items`"]
    assert hints(asked % "") == ["add `items: [...]`"]
    assert hints(asked % ", items: [x, y]") == []


@pytest.mark.parametrize("none", ["0s", "0", "0.0s"])
def test_no_time_at_all_is_left_out(hints, none):
    assert hints(STEP % f", retry: {{ max: 2, delay: {none} }}") == ["leave it out, or write it like `30s` or `5m`"]
    assert hints(STEP % ", retry: { max: 2, delay: 5x }") == ["write it like `30s` or `5m`"]
    assert hints(STEP % ", retry: { max: 2 }") == []
