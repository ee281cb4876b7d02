"""Findings that those see who bring runbooks from elsewhere: the hint, followed to the letter, mends the document."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: ship, transport: stdio }
contract:
  effects: [network]
  idempotent: true
  inputs: { n: { required: false, default: "" } }
  outputs: { release: { type: string } }
actions: { do: { argv: ["echo", "{{ .n }}"], extract: { release: { from: stdout } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b, inputs: { release: { type: string } } }\ntools: [ship]\nsteps:\n"
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"


@pytest.fixture
def validate(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ship.tool.yaml").write_text(TOOL)

    def findings(steps):
        (tmp_path / "book.yaml").write_text(HEAD + steps + END, encoding="utf-8")
        command = [sys.executable, "-m", "gert_core", "validate", "book.yaml", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        found = json.loads(done.stdout)["diagnostics"]
        return [(one["rule"], one["line"], one["message"], one["hint"]) for one in found]

    return findings


# -- an output that hides an input -----------------------------------------------------------------------------


def test_an_output_that_hides_an_input_is_reported_at_its_step_if_the_name_is_read(validate):
    look = '  - { id: look, type: tool, tool: ship, inputs: { n: "{{ .release }}" } }\n'
    read = '  - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    assert validate(look) == []
    assert validate(look + read + read.replace("use", "more")) == [
        (
            "input-shadowed",
            5,
            "the output `release` of step `look` hides the input `release`: `.release` in line 6 is the output",
            "with `scope: look` `.release` stays the input and the output is `.look.release`; or rename the input",
        )
    ]
    apart = look.replace("tool: ship", "tool: ship, scope: look")
    assert validate(apart + read) == []
    assert validate(look + read.replace(".release", ".look.release")) == []
    both = read.replace("{{ .release }}", "{{ .release }} {{ .look.release }}")
    assert validate(apart + both) == []


def test_the_hint_about_a_step_without_an_id_gives_it_one(validate):
    look = "  - { type: tool, tool: ship }\n"
    read = '  - { id: use, type: tool, tool: ship, when: "{{ eq .release `x` }}", scope: use }\n'
    ((rule, line, _, hint),) = validate(look + read)
    assert (rule, line) == ("input-shadowed", 5)
    assert hint.startswith("with `id: tool_1` and `scope: tool_1` ")
    assert validate(look.replace("type:", "id: tool_1, scope: tool_1, type:", 1) + read) == []
    assert validate(look + read.replace("{ id: use", "{ # gert: ignore[input-shadowed]\n    id: use")) != []
    assert validate(look.rstrip("\n") + " # gert: ignore[input-shadowed]\n" + read) == []


def test_an_output_of_some_paths_and_one_inside_a_block_hide_an_input_too(validate):
    look = '  - { id: look, type: tool, tool: ship, when: "{{ eq .release `x` }}" }\n'
    read = '  - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    assert [one[:2] for one in validate(look + read)] == [("input-shadowed", 5)]
    inside = (
        "  - type: block\n    id: work\n    steps:\n"
        "      - { id: look, type: tool, tool: ship }\n"
        '      - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    )
    assert [one[:2] for one in validate(inside)] == [("input-shadowed", 8)]


def test_an_output_in_a_loop_hides_an_input_inside_it_only(validate):
    loop = "  - { id: each, type: tool, tool: ship, for_each: { as: x, over: [1] } }\n"
    read = '  - { id: use, type: tool, tool: ship, scope: use, inputs: { n: "{{ .release }}" } }\n'
    assert validate(loop + read) == []


# -- words of other tools --------------------------------------------------------------------------------------

FIELDS = {
    "block: []": "use `steps` of a step of type `block`",
    "rescue: []": "use `on_failure` of a step of type `block`",
    "always: []": "use `finally` of a step of type `block`",
    "loop: [1, 2]": "write `for_each: {as: item, over: [...]}`; the item is `.item` then",
    "with_items: '{{ .release }}'": "write `for_each: {as: item, over: '{{ .release }}'}`; the item is `.item` then",
    "register: x": "remove it: the outputs of this step are at `.a`, such as `.a.NAME`",
    "depends_on: [x]": "use `nodes[].depends_on` of a step of type `dag`",
    "needs: [x]": "use `nodes[].depends_on` of a step of type `dag`",
    "nextStep: done": "write `next: done`",
    "onFailure: step:x": "use `on_failure` of a step of type `block`",
    "onFailure: Continue": "write `continue_on_fail: true`; or use `on_failure` of a step of type `block`",
    "isEnd: true": "use a step of type `end`",
    "isCritical: false": "write `continue_on_fail: true`",
    "isCritical: true": "remove it: a step that fails ends the run anyway",
    "retries: 3": "write `retry: {max: 4}`",
    "attempts: 3": "write `retry: {max: 3}`",
    "delay: 5": "write `retry: {max: 3, delay: 5s}`",
    "until: '{{ .x }}'": "write `retry: {max: 3}` to attempt the step again while it fails;"
    " or use `repeat.until` of a step of type `repeat` or `until` of a step of type `wait`",
    "prompt: x": "use `message` of a step of type `approval` or `instructions` of a step of type `manual`",
    "expires: 1h": "use `timeout` of a step of type `approval`",
    "name: Ship it": "the field is called `description`",
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_another_tool_is_answered_with_what_it_is_here(validate, field):
    step = "  - { id: a, type: tool, tool: ship }\n"
    ((rule, line, message, hint),) = validate(step.replace(" }", f", {field} }}"))
    name = field.partition(":")[0]
    belongs = "; it belongs to `wait`" if name == "until" else ""
    assert (rule, line, message) == (
        "unknown-field",
        5,
        f"`{name}` is not a field of a step of type `tool`{belongs}",
    )
    assert hint == FIELDS[field]
    followed = re.match(r"write `(.*?)`(?:; | to |$)", hint)
    if followed and "[...]" not in hint and name != "with_items":
        assert validate(step.replace(" }", f", {followed[1]} }}")) == []


@pytest.mark.parametrize("word", ["needs", "dependsOn", "requires", "after"])
def test_a_field_of_another_tool_inside_a_step_is_answered_too(validate, word):
    node = "{ name: %s, steps: [ { id: %s, type: tool, tool: ship, scope: %s } ]%s }"
    step = "  - { id: g, type: dag, nodes: [ FIRST, SECOND ] }\n".replace("FIRST", node % ("a", "a", "a", ""))
    wrong = step.replace("SECOND", node % ("b", "b", "b", f", {word}: [a]"))
    ((rule, line, message, hint),) = validate(wrong)
    assert (rule, line, message, hint) == (
        "unknown-field",
        5,
        f"`{word}` is not a field here",
        "write it as `depends_on`",
    )
    assert validate(wrong.replace(word, "depends_on")) == []


def test_a_field_whose_own_one_is_there_already_is_removed(validate):
    step = "  - { id: a, type: tool, tool: ship, retry: { max: 2 }, retries: 3 }\n"
    assert [one[3] for one in validate(step)] == ["remove it: `retry` is there already"]
    assert validate(step.replace(", retries: 3", "")) == []


def test_retries_and_delay_are_one_hint_that_mends_both(validate):
    step = "  - { id: a, type: tool, tool: ship, retries: 3, delay: 5 }\n"
    assert {one[3] for one in validate(step)} == {"write `retry: {max: 4, delay: 5s}`"}
    assert validate(step.replace("retries: 3, delay: 5", "retry: {max: 4, delay: 5s}")) == []


@pytest.mark.parametrize(("word", "most"), [("retries", 4), ("attempts", 3), ("maxAttempts", 3)])
def test_a_number_of_attempts_inside_retry_is_max(validate, word, most):
    step = f"  - {{ id: a, type: tool, tool: ship, retry: {{ {word}: 3, delay: 5s }} }}\n"
    expected = f"write `max: {most}`, the number of attempts, the first one included"
    assert [one[2:] for one in validate(step)] == [(f"`{word}` is not a field here", expected)]
    assert validate(step.replace(f"{word}: 3", f"max: {most}")) == []


def test_a_type_of_another_tool_is_answered_with_ours(validate):
    step = "  - { id: a, type: sleep, for: 3s }\n"
    ((rule, _, _, hint),) = validate(step)
    assert rule == "unknown-step-type"
    assert hint == "use `for` of a step of type `wait`"
    assert validate(step.replace("sleep", "wait")) == []
    ((_, _, _, hint),) = validate("  - { id: a, type: pause, instructions: Look. }\n")
    assert hint.startswith("did you mean `manual` or `wait`?")
    ((_, _, _, hint),) = validate("  - { id: a, type: rescue }\n")
    assert hint.startswith("use `on_failure` of a step of type `block`")


def test_words_of_another_tool_inside_the_type_they_stand_for_are_spelled_anew(validate):
    step = "  - id: a\n    type: block\n    block: [{ id: b, type: tool, tool: ship }]\n"
    step += "    rescue: [{ id: c, type: wait, for: 1s }]\n"
    hints = [one[3] for one in validate(step)]
    assert "write it as `steps`" in hints
    assert "write it as `on_failure`" in hints
    assert validate(step.replace("    block:", "    steps:").replace("rescue", "on_failure")) == []


def test_a_word_that_is_only_a_part_of_a_field_is_not_taken_for_it(validate):
    ((_, _, _, hint),) = validate("  - { id: a, type: tool, tool: ship, port: 80 }\n")
    assert hint.startswith("known fields: action, ")
    ((_, _, _, hint),) = validate("  - { id: a, type: tool, tool: ship, exprot: [release] }\n")
    assert hint == "did you mean `export`?"


# -- a step without a type -------------------------------------------------------------------------------------


def test_a_step_without_a_type_is_told_the_one_that_its_fields_belong_to(validate):
    step = "  - { id: a, tool: ship, action: do }\n"
    assert validate(step) == [
        (
            "missing-field",
            5,
            "`type` is missing",
            "a step with `tool` and `action` is of type `tool`: add `type: tool`",
        )
    ]
    assert validate(step.replace("id: a,", "id: a, type: tool,")) == []
    ((_, _, _, hint),) = validate("  - { name: x, block: [], rescue: [] }\n")
    assert hint == "a step with `block` and `rescue` is of type `block`: add `type: block`"


@pytest.mark.parametrize("fields", ["steps: []", "id: a", "tool: ship, outcome: {}", "pause: 3"])
def test_a_step_whose_fields_tell_no_single_type_gets_no_guess(validate, fields):
    ((rule, _, message, hint),) = validate(f"  - {{ {fields} }}\n")
    assert (rule, message, hint) == ("missing-field", "`type` is missing", None)


# -- words that stand for a field or a type of a step ----------------------------------------------------------


@pytest.mark.parametrize("word", ["sleep", "seconds", "duration"])
def test_the_time_of_a_wait_is_called_for(validate, word):
    step = f"  - {{ id: a, type: wait, {word}: 5 }}\n"
    assert "write it as `for`" in [one[3] for one in validate(step)]
    assert validate(step.replace(f"{word}:", "for:")) == []


@pytest.mark.parametrize("word", ["path", "file"])
def test_the_file_of_a_runbook_step_is_called_runbook_and_that_of_others_is_not(validate, word):
    step = f"  - {{ id: a, type: runbook, {word}: ./b.yaml }}\n"
    assert "write it as `runbook`" in [one[3] for one in validate(step)]
    ((_, _, _, hint),) = validate(f"  - {{ id: a, type: tool, tool: ship, {word}: x }}\n")
    assert hint.startswith("known fields: ")


EACH = "write `for_each: {as: item, over: [...]}` in a step of any type"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("if", "did you mean `branch`?"),
        ("switch", "did you mean `branch`?"),
        ("while", "did you mean `repeat`?"),
        ("loop", f"did you mean `repeat`? For each item of a list, {EACH}"),
        ("foreach", EACH),
    ],
)
def test_a_type_of_other_tools_is_told_what_does_the_same_here(validate, word, hint):
    ((rule, _, _, found),) = validate(f"  - {{ id: a, type: {word} }}\n")
    assert (rule, found) == ("unknown-step-type", hint)
    looped = EACH.split("`")[1].replace("...", "1")
    assert validate(f"  - {{ id: a, type: tool, tool: ship, {looped} }}\n") == []


@pytest.mark.parametrize("written", ["a is {}", "a is not {}", "not a is {}", "step.a is {}", "a.status is {}"])
@pytest.mark.parametrize(
    ("word", "status"),
    [("failed", "failed"), ("success", "success"), ("succeeded", "success"), ("skipped", "skipped")],
)
def test_how_a_step_came_out_is_its_status(validate, written, word, status):
    steps = "  - { id: a, type: tool, tool: ship }\n  - { id: c, type: wait, for: 1s, when: '{{ %s }}' }\n"
    test = written.format(word)
    ((_, _, message, hint),) = validate(steps % test)
    assert message == f"there is no test `{word}`"
    path = re.search(r"(step\.)?a", test)[0]
    mended = f'{path}.status {"!=" if "not" in test else "=="} "{status}"'
    assert hint == f"write `{mended}`"
    assert validate(steps % mended) == []


def test_no_step_has_the_status_changed(validate):
    steps = "  - { id: a, type: tool, tool: ship }\n  - { id: c, type: wait, for: 1s, when: '{{ a is changed }}' }\n"
    ((_, _, _, hint),) = validate(steps)
    assert hint == "a step has no such status: compare an output that tells"


# -- what may be undefined, and what may be missing ------------------------------------------------------------


def test_the_condition_of_a_wait_may_read_what_a_look_has_not_set_yet(validate):
    look = "{ id: look, type: tool, tool: ship, continue_on_fail: true }"
    wait = (
        f"  - id: up\n    type: wait\n    timeout: 1m\n    until: '{{{{ ne .look.release ``}}}}'\n    steps: [{look}]\n"
    )
    assert validate(wait) == []
    # The same step before the wait is never run again, so its output stays undefined.
    before = wait.replace(f"[{look}]", "[{ id: other, type: tool, tool: ship, scope: o }]")
    assert [one[:2] for one in validate(f"  - {look}\n{before}")] == [("maybe-undefined", 9)]


def test_a_program_is_missed_only_by_the_actions_that_steps_use(validate, tmp_path):
    more = TOOL.replace("actions: { do:", 'actions: { undo: { argv: [no-such-program-here, "{{ .n }}"] }, do:')
    (tmp_path / "tools" / "ship.tool.yaml").write_text(more.replace("release: {", "release: { required: false,", 1))
    step = "  - { id: a, type: tool, tool: ship, action: do }\n"
    broken = "  - { id: b, tool: ship, action: do }\n"
    assert validate(step) == []
    assert [one[0] for one in validate(step + broken)] == ["missing-field"]
    assert [one[0] for one in validate(step.replace(": do", ": undo"))] == ["program-missing"]
    assert [one[0] for one in validate(broken + step.replace(": do", ": undo"))] == ["missing-field", "program-missing"]


@pytest.mark.parametrize(
    ("answer", "shown", "kind"),
    [
        ("", "skipped (approval no answer)", "approval_no_answer"),
        ("n ann\n", "skipped (approval rejected)", "approval_rejected"),
    ],
)
def test_an_approval_without_an_answer_is_not_shown_as_a_rejection(validate, tmp_path, answer, shown, kind):
    assert validate("  - { id: a, type: tool, tool: ship }\n") == []
    book = (tmp_path / "book.yaml").read_text()
    rule = "governance: { rules: [{ effects: [network], action: require-approval }] }"
    book = book.replace("meta: { name: b, inputs: { release: { type: string } } }", f"meta: {{ name: b, {rule} }}")
    (tmp_path / "book.yaml").write_text(book)
    gert = [sys.executable, "-m", "gert_core"]
    ask = [*gert, "exec", "book.yaml", "--trace", "t.jsonl"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False, cwd=tmp_path, input=answer)
    assert done.returncode == 1
    assert f"a  tool  {shown}\n" in done.stderr
    show = [*gert, "trace", "show", "t.jsonl"]
    done = subprocess.run(show, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert f"a  skipped ({kind})" in done.stdout
