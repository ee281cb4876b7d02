"""Hints of ``gert validate``, followed to the letter: what they say is written into the document, which is then valid."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: echo, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { n: {} }, outputs: { out: { type: string } } }
actions: { do: { argv: ["echo", "{{ .n }}"], extract: { out: { from: stdout } } } }
"""
HEAD = "apiVersion: kernel/v0\nmeta: { name: b, inputs: { word: { type: string } } }\n"
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
        done = subprocess.run(
            [sys.executable, "-m", "gert_core", "validate", name, "--json"],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.root,
        )
        return json.loads(done.stdout)["diagnostics"]

    def only(self, text, name="book.yaml"):
        """The only finding, its rule and its hint."""
        (found,) = self(text, name)
        return found["rule"], found["hint"]


@pytest.fixture
def validate(tmp_path):
    return Validator(tmp_path)


def value_in(hint):
    """The YAML that a hint says to write."""
    return re.search(r"(?:write|it as|arguments:|list:) (\[.*\]|['\"].*['\"])$", hint)[1]


@pytest.mark.parametrize("typo", ["tool", "toools", "tols"])
def test_a_misspelled_field_tools_is_one_finding_and_its_hint_mends_it(validate, typo):
    text = f"{HEAD}{typo}: [echo]\nsteps:\n{STEP}{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("unknown-field", "did you mean `tools`?")
    assert validate(text.replace(f"\n{typo}:", "\ntools:")) == []


def test_a_field_that_is_there_already_is_not_suggested(validate):
    text = f"{HEAD}tools: [echo]\ntool: [echo]\nsteps:\n{STEP}{END}"
    assert validate.only(text) == ("unknown-field", "remove it: `tools` is there already")
    assert validate(text.replace("\ntool: [echo]", "")) == []
    text = f"{HEAD}tools: [echo]\nsteps:\n{STEP.replace('inputs', 'tools: x, inputs')}{END}"
    assert validate.only(text) == ("unknown-field", "remove it: `tool` is there already")


def test_tools_in_the_wrong_place_are_moved(validate):
    text = f"apiVersion: kernel/v0\nmeta:\n  name: b\n  tools: [echo]\nsteps:\n{STEP}{END}"
    assert validate.only(text) == ("unknown-field", "move `tools` out of `meta`, to the top of the document")
    assert validate(text.replace("  tools:", "tools:")) == []


def test_a_misspelled_name_in_tools_is_one_finding_at_the_list(validate):
    text = f"{HEAD}tools: [ecoh]\nsteps:\n{STEP}{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("tool-not-found", "did you mean `echo`?")
    assert validate(text.replace("ecoh", "echo")) == []


def test_a_misspelled_name_in_a_step_is_corrected(validate):
    text = f"{HEAD}tools: [echo]\nsteps:\n{STEP.replace('tool: echo', 'tool: ehco')}{END}"
    assert validate.only(text) == ("tool-undeclared", "did you mean `echo`?")
    assert validate(text.replace("ehco", "echo")) == []


@pytest.mark.parametrize("written", ["echo:do", "echo.do"])
@pytest.mark.parametrize("action", ["", ", action: do"])
def test_a_tool_with_its_action_is_written_as_both(validate, written, action):
    step = STEP.replace("tool: echo", f'tool: "{written}"{action}')
    rule, hint = validate.only(f"{HEAD}tools: [echo]\nsteps:\n{step}{END}")
    assert (rule, hint) == ("tool-undeclared", f"write `tool: echo`{'' if action else ' and `action: do`'}")
    mended = step.replace(f'tool: "{written}"', "tool: echo" + ("" if action else ", action: do"))
    assert validate(f"{HEAD}tools: [echo]\nsteps:\n{mended}{END}") == []


def test_missing_tools_are_added(validate):
    text = f"{HEAD}steps:\n{STEP}{END}"
    assert validate.only(text) == ("tool-undeclared", "add `tools: [echo]` to the runbook")
    assert validate(text.replace("steps:", "tools: [echo]\nsteps:")) == []


@pytest.mark.parametrize("written", ["echo", "echo, echo", '"echo"'])
def test_a_list_given_as_text_is_spelled_as_a_list(validate, written):
    text = f"{HEAD}tools: {written}\nsteps:\n{STEP}{END}"
    rule, hint = validate.only(text)
    assert rule == "wrong-type"
    assert validate(text.replace(f"tools: {written}", f"tools: {value_in(hint)}")) == []


ARGV = "apiVersion: tool/v0\nmeta: { name: c, transport: stdio }\ncontract: { effects: [], writes: [], inputs: { a: {}, b: {} } }\nactions:\n  do:\n    argv: COMMAND\n"


@pytest.mark.parametrize(
    ("command", "spelled"),
    [
        ("echo -c 1 {{ .a }}", '["echo", "-c", "1", "{{ .a }}"]'),
        ("curl -s 'http://x y/{{ .a }}'", '["curl", "-s", "http://x y/{{ .a }}"]'),
        ('"echo -c 1 {{ .a }}"', '["echo", "-c", "1", "{{ .a }}"]'),
        ('echo {{ .a | default "a b" }}', '["echo", \'{{ .a | default "a b" }}\']'),
        ("cat {{ .a }} | sort > {{ .b }}", '["sh", "-c", \'cat "$1" | sort > "$2"\', "sh", "{{ .a }}", "{{ .b }}"]'),
        ("cat 'it is' | sort", '["sh", "-c", "cat \'it is\' | sort"]'),
    ],
)
def test_argv_given_as_text_is_spelled_as_arguments(validate, command, spelled):
    rule, hint = validate.only(ARGV.replace("COMMAND", command), "c.tool.yaml")
    assert (rule, hint) == ("wrong-type", f"write a list of arguments: {spelled}")
    assert validate(ARGV.replace("COMMAND", value_in(hint)), "c.tool.yaml") == []


def test_argv_that_only_its_author_can_divide_gets_no_wrong_spelling(validate):
    _, hint = validate.only(ARGV.replace("COMMAND", "cat '{{ .a }}' | sort"), "c.tool.yaml")
    assert hint == "write a list of arguments, one item each; for pipes and the like call a script"


QUOTED = {
    '"{{ .word | default "none" }}"': "'{{ .word | default \"none\" }}'",
    '"it\'s {{ .word | default "none" }} here"': "'it''s {{ .word | default \"none\" }} here'",
    '"{{ eq .word "x" }} or {{ eq .word "y" }}"': '\'{{ eq .word "x" }} or {{ eq .word "y" }}\'',
    '{{ .word | default "none" }}': "'{{ .word | default \"none\" }}'",
    "{{ .word }}": '"{{ .word }}"',
}
IN_FLOW = "  - { id: a, type: tool, tool: echo, inputs: { n: VALUE } }\n"
IN_BLOCK = "  - id: a\n    type: tool\n    tool: echo\n    inputs:\n      n: VALUE\n"


@pytest.mark.parametrize(
    ("step", "written", "spelled"),
    [
        *((step, *pair) for step in (IN_FLOW, IN_BLOCK) for pair in QUOTED.items()),
        (IN_BLOCK, "{{ .word }} now", '"{{ .word }} now"'),
    ],
)
def test_double_quotes_inside_double_quotes_are_spelled_right(validate, step, written, spelled):
    text = f"{HEAD}tools: [echo]\nsteps:\n{step}{END}"
    found = validate(text.replace("VALUE", written))
    hint = found[0]["hint"]
    assert hint.endswith(f": write {spelled}"), found
    assert validate(text.replace("VALUE", value_in(hint))) == []


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_a_default_is_spelled_in_the_other_quotes_than_those_around_it(validate, quote):
    template = f"{quote}hello {{{{ .out }}}}{quote}"
    use = f"  - id: use\n    type: tool\n    tool: echo\n    scope: two\n    inputs:\n      n: {template}\n"
    text = f"{HEAD}tools: [echo]\nsteps:\n{use}{STEP}{END}"
    rule, hint = validate.only(text)
    assert rule == "unresolved-variable"
    right = re.search(r"for the first: `(.*)`$", hint)[1]
    assert right == (".out | default ''" if quote == '"' else '.out | default ""')
    assert validate(text.replace(".out", right)) == []


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_missing_argument_of_default_is_spelled_too(validate, quote):
    text = f"{HEAD}tools: [echo]\nsteps:\n{STEP.replace('n: x', f'n: {quote}{{{{ .word | default }}}}{quote}')}{END}"
    rule, hint = validate.only(text)
    assert rule == "template-syntax"
    right = re.search(r"^write `\.value \| (default .*)`$", hint)[1]
    assert validate(text.replace("default }}", f"{right} }}}}")) == []


@pytest.mark.parametrize("written", ["'{{ .each.out }}'", '"{{ .each.out }}"'])
def test_an_item_of_a_list_is_taken_in_the_right_quotes(validate, written):
    each = "  - { id: each, type: tool, tool: echo, inputs: { n: x }, for_each: { as: i, over: [1, 2] } }\n"
    text = f"{HEAD}tools: [echo]\nsteps:\n{each}{STEP.replace('n: x', f'n: {written}')}{END}"
    rule, hint = validate.only(text)
    assert rule == "unresolved-variable"
    right = re.search(r"^write `(index [^`]*)`", hint)[1]
    assert validate(text.replace(".each.out", right)) == []


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        (".ready", '"{{ .ready }}"'),
        ('eq .word "x"', "'{{ eq .word \"x\" }}'"),
        ("'eq .word \"x\"'", "'{{ eq .word \"x\" }}'"),
        ("\"eq .word 'x'\"", "\"{{ eq .word 'x' }}\""),
    ],
)
def test_a_condition_without_braces_is_spelled_with_quotes(validate, written, spelled):
    head = HEAD.replace("word:", "ready: { type: bool }, word:")
    step = f"  - id: a\n    type: tool\n    tool: echo\n    inputs: {{ n: x }}\n    when: {written}\n"
    text = f"{head}tools: [echo]\nsteps:\n{step}{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("condition-not-expression", f"write it as {spelled}")
    assert validate(text.replace(f"when: {written}", f"when: {value_in(hint)}")) == []


@pytest.mark.parametrize("opening", ["{{", "{%"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_braces_are_spelled_in_the_other_quotes(validate, opening, quote):
    bad = "{{ x" if opening == "{{" else "{% x %}"
    text = f"{HEAD}tools: [echo]\nsteps:\n{STEP.replace('n: x', f'n: {quote}{bad}{quote}')}{END}"
    rule, hint = validate.only(text)
    assert rule == "template-syntax"
    right = re.search(r" as (\{\{ .*)$", hint)[1]
    assert validate(text.replace(f"{quote}{opening}", f"{quote}{right}")) == []


@pytest.mark.parametrize("export", ["[out]", "{ out: out }", "{ kept: out, out: exit_code }"])
@pytest.mark.parametrize("holder", ["inputs: { out: { type: string } }", "constants: { out: x }"])
def test_an_export_that_collides_with_an_input_or_constant_gets_another_name(validate, holder, export):
    meta = f"apiVersion: kernel/v0\nmeta: {{ name: b, {holder} }}\n"
    step = STEP.replace("inputs", f"scope: one, export: {export}, inputs")
    use = "  - { id: use, type: tool, tool: echo, scope: two, inputs: { n: '{{ .out }}' } }\n"
    text = f"{meta}tools: [echo]\nsteps:\n{step}{use}{END}"
    rule, hint = validate.only(text)
    assert rule == "export-collision"
    (field,) = re.findall(r"`(.*?)`", hint)
    assert validate(text.replace(f"export: {export}", field).replace("{{ .out }}", "{{ .a_out }}")) == []


@pytest.mark.parametrize(
    "first", ["scope: one, export: [out], ", "export: { out: out }, ", "when: true, export: [out], "]
)
@pytest.mark.parametrize("scope", ["", "scope: two, "])
@pytest.mark.parametrize("jump", ["", "next: { step: a, max: 1 }, "])
def test_an_export_that_collides_with_another_step_s_gets_another_name(validate, first, scope, jump):
    one = STEP.replace("inputs", f"{first}inputs")
    second = STEP.replace("id: a", "id: b").replace("inputs", f"{scope}{jump}export: [out], inputs")
    text = f"{HEAD}tools: [echo]\nsteps:\n{one}{second}{END}"
    rule, hint = validate.only(text)
    assert rule == "export-collision"
    fields = ", ".join(re.findall(r"`(.*?)`", hint))
    before, _, after = text.rpartition("export: [out]")
    assert validate(before + fields + after) == []


def test_an_export_that_collides_in_a_loop_gets_another_name(validate):
    inner = "".join(
        f"      - {{ id: {name}, type: tool, tool: echo, inputs: {{ n: x }}, export: [out] }}\n" for name in ("b", "c")
    )
    loop = f"  - id: loop\n    type: repeat\n    repeat: {{ max: 2, until: \"{{{{ eq .out 'x' }}}}\" }}\n    steps:\n{inner}"
    use = "      - { id: use, type: tool, tool: echo, scope: two, inputs: { n: '{{ .c.out }}' } }\n"
    text = f"{HEAD}tools: [echo]\nsteps:\n{loop}{use}{END}"
    rule, hint = validate.only(text)
    assert rule == "export-collision"
    fields = ", ".join(re.findall(r"`(.*?)`", hint))
    first, _, second = text.rpartition("export: [out]")
    assert validate((first + fields + second).replace(".c.out }}", ".c_out }}")) == []


def test_a_promotion_over_an_export_is_given_a_scope(validate):
    one = STEP.replace("inputs", "scope: one, export: [out], inputs")
    second = STEP.replace("id: a", "id: b")
    use = "  - { id: use, type: tool, tool: echo, scope: two, inputs: { n: '{{ .out }}{{ .b.out }}' } }\n"
    text = f"{HEAD}tools: [echo]\nsteps:\n{one}{second}{use}{END}"
    (found,) = validate(text)
    assert (found["rule"], found["severity"]) == ("export-shadowed", "warning")
    scope, path = re.findall(r"`(.*?)`", found["hint"])
    assert path == ".b.out"
    assert validate(text.replace("id: b", f"id: b, {scope}")) == []


@pytest.mark.parametrize("export", ["", ", export: [out]", ", scope: one, export: [out]"])
def test_names_that_clash_between_branches_are_kept_apart(validate, export):
    branches = "".join(
        f"      - steps: [ {{ id: {name}, type: tool, tool: echo, inputs: {{ n: x }}{export} }} ]\n"
        for name in ("b", "c")
    )
    use = "  - { id: use, type: tool, tool: echo, scope: two, inputs: { n: '{{ .c.out }}' } }\n"
    text = f"{HEAD}tools: [echo]\nsteps:\n  - id: fork\n    type: parallel\n    branches:\n{branches}{use}{END}"
    rule, hint = validate.only(text)
    assert rule == "parallel-output-clash"
    if not export:
        assert hint == "`c`: give it a `scope`; read it as `.c.out`"
        mended = text.replace("id: c, ", "id: c, scope: apart, ")
    elif "scope" in export:
        assert hint == "`c`: remove `out` from its `export`; read it as `.c.out`"
        mended = "".join(text.rpartition(", export: [out]")[::2])
    else:
        assert hint == "`c`: give it a `scope` and remove `out` from its `export`; read it as `.c.out`"
        mended = "".join(text.rpartition(", export: [out]")[::2]).replace("id: c, ", "id: c, scope: apart, ")
    assert validate(mended) == []


@pytest.mark.parametrize(
    ("kind", "blocks", "start"), [("parallel", "branches", "- steps"), ("dag", "nodes", "- name: NAME\n        steps")]
)
def test_an_export_under_another_name_that_clashes_is_read_as_the_output_it_is(validate, kind, blocks, start):
    branches = "".join(
        f"      {start.replace('NAME', name)}:\n"
        f"        - {{ id: {name}, type: tool, tool: echo, scope: {name}, inputs: {{ n: x }}, export: {{ q: out }} }}\n"
        for name in ("b", "c")
    )
    text = f"{HEAD}tools: [echo]\nsteps:\n  - id: fork\n    type: {kind}\n    {blocks}:\n{branches}{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("parallel-output-clash", "`c`: remove `q` from its `export`; read it as `.c.out`")
    use = "  - { id: use, type: tool, tool: echo, scope: two, inputs: { n: '{{ .c.out }}' } }\n"
    assert validate("".join(text.rpartition("q: out")[::2]).replace(END, use + END)) == []


def test_an_end_deep_inside_finally_is_said_to_be_inside_finally(validate):
    end = "{ type: end, outcome: { category: resolved } }"
    arm = f"{{ type: branch, branches: [ {{ condition: default, steps: [ {end} ] }} ] }}"
    found = validate(f"{HEAD}tools: [echo]\nsteps:\n{STEP}{END}finally: [ {arm} ]\n")
    (message,) = [one["message"] for one in found if one["rule"] == "end-in-finally"]
    assert message.endswith("would end the run inside `finally`, which runs whatever the outcome is")


def test_the_status_of_the_run_is_read_only_in_its_own_cleanup(validate):
    step = STEP.replace("n: x", "n: '{{ .run.status }}'")
    (found,) = validate(f"{HEAD}tools: [echo]\nsteps:\n{step}{END}")
    assert found["message"] == "`.run.status` exists only in the cleanup of the run"
    assert found["hint"] == "use it inside `on_failure` or `finally` of the runbook itself"
    assert validate(f"{HEAD}tools: [echo]\nsteps:\n{END}finally:\n{step}") == []


def test_the_hint_about_a_missing_runbook_has_the_directory_as_it_is_written(validate):
    (validate.root / "other").mkdir()
    (validate.root / "here").mkdir()
    (validate.root / "other" / "stop.yaml").write_text(
        HEAD.replace(", inputs: { word: { type: string } }", "") + f"steps:\n{END}"
    )
    for lead in ("../other/", "./../other/"):
        text = f"{HEAD}steps:\n  - {{ id: a, type: runbook, runbook: {lead}stpo.yaml }}\n{END}"
        rule, hint = validate.only(text, "here/book.yaml")
        assert (rule, hint) == ("runbook-not-found", f"did you mean `{lead}stop.yaml`?")
        assert validate(text.replace(f"{lead}stpo.yaml", f"{lead}stop.yaml"), "here/book.yaml") == []


def test_a_missing_tool_names_each_place_once(validate):
    (validate.root / "gert-project.yaml").write_text("{}\n")
    (found,) = validate(f"{HEAD}tools: [other]\nsteps:\n{END}")
    assert found["rule"] == "tool-not-found"
    assert found["message"].count("tools/other.tool.yaml") == 1


@pytest.mark.parametrize(
    "loop",
    [
        "  - {{ id: l, type: block, for_each: {{ as: i, over: [1, 2] }}, steps: [ {} ] }}\n",
        "  - {{ id: l, type: repeat, repeat: {{ max: 2 }}, steps: [ {} ] }}\n",
    ],
)
@pytest.mark.parametrize("read", [".a.out", ".out"])
def test_an_output_of_a_step_inside_a_loop_is_exported_and_read_by_its_name(validate, loop, read):
    step = "{{ id: a, type: tool, tool: echo, inputs: {{ n: x }}{} }}"
    end = "  - {{ id: done, type: end, outcome: {{ category: resolved, meta: {{ m: '{}' }} }} }}\n"
    before = HEAD + "tools: [echo]\nsteps:\n" + loop.format(step.format("")) + end.format(f"{{{{ {read} }}}}")
    rule, hint = validate.only(before)
    export, name = re.fullmatch(r"add `(export: \[out\])` to `a` and read `(\.out)`", hint).groups()
    assert rule == "unresolved-variable"
    after = loop.format(step.format(f", {export}")) + end.format(f"{{{{ {name} }}}}")
    assert validate(HEAD + "tools: [echo]\nsteps:\n" + after) == []


def test_there_is_no_present_time(validate):
    text = HEAD + "steps:\n" + END.replace("resolved", "resolved, meta: { at: '{{ .now }}' }")
    assert validate.only(text) == ("unresolved-variable", "a resumed run must see the same time: read `.run.started`")
    assert validate(text.replace(".now", ".run.started")) == []


SHIP = """\
apiVersion: tool/v0
meta: { name: ship, cwd: CWD }
contract: { effects: [], inputs: { n: { type: TYPE } } }
actions: { do: { argv: [echo, "{{ .n }}"] } }
"""


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("number", "float"),
        ("integer", "int"),
        ("boolean", "bool"),
        ("str", "string"),
        ("array", "list"),
        ("dict", "object"),
        ("String", "string"),
        ("strng", "string"),
    ],
)
def test_a_type_of_another_language_is_called_by_its_name(validate, written, right):
    text = SHIP.replace("CWD", "tool")
    rule, hint = validate.only(text.replace("TYPE", written), "ship.tool.yaml")
    assert (rule, hint) == ("wrong-type", f"write `{right}`")
    assert validate(text.replace("TYPE", right), "ship.tool.yaml") == []


def test_a_word_that_is_like_none_of_the_known_ones_gets_no_hint(validate):
    text = SHIP.replace("TYPE", "int").replace("CWD", "elsewhere")
    assert validate.only(text, "ship.tool.yaml") == ("wrong-type", None)
    rule, hint = validate.only(text.replace("elsewhere", "runbok"), "ship.tool.yaml")
    assert (rule, hint) == ("wrong-type", "write `runbook`")


def test_a_word_where_a_map_belongs_is_written_as_one(validate):
    text = f"apiVersion: kernel/v0\nmeta: {{ name: b, secrets: [PATH] }}\nsteps:\n{END}"
    rule, hint = validate.only(text)
    assert (rule, hint) == ("wrong-type", "write a map: {env: PATH}")
    assert validate(text.replace("[PATH]", "[{env: PATH}]")) == []
    kept = STEP.replace("inputs", "artifacts: { log: out.txt }, inputs")
    text = f"{HEAD}tools: [echo]\nsteps:\n{kept}{END}"
    assert validate.only(text) == ("wrong-type", "write a map: {path: out.txt}")
    assert validate(text.replace("log: out.txt", "log: {path: out.txt}")) == []
    evidence = "  - { id: m, type: manual, instructions: Look., required_evidence: [note] }\n"
    assert validate.only(f"{HEAD}steps:\n{evidence}{END}") == ("wrong-type", "write a map: {kind: ..., name: ...}")


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("choices: [a, b]", "enum"),
        ("values: [a, b]", "enum"),
        ("regex: '[ab]'", "pattern"),
        ("minimum: 1", "min"),
        ("maxLength: 3", "max"),
    ],
)
def test_a_limit_of_an_input_is_called_by_its_name(validate, written, right):
    text = (
        f"apiVersion: kernel/v0\nmeta: {{ name: b, inputs: {{ word: {{ type: string, {written} }} }} }}\nsteps:\n{END}"
    )
    assert validate.only(text) == ("unknown-field", f"write it as `{right}`")
    name = written.partition(":")[0]
    assert validate(text.replace(f"{name}:", f"{right}:")) == []


@pytest.mark.parametrize("fields", ["max: 3", "max: 3, until: '{{ true }}'"])
def test_bound_and_condition_of_a_repeat_are_written_in_their_map(validate, fields):
    text = f"{HEAD}tools: [echo]\nsteps:\n  - {{ id: r, type: repeat, {fields}, steps: [] }}\n{END}"
    found = validate(text)
    assert [one["rule"] for one in found] == ["missing-field"] + ["unknown-field"] * (fields.count(":"))
    (right,) = {one["hint"] for one in found[1:]}
    assert right == f"write `repeat: {{{fields}}}`"
    assert all("it belongs" not in one["message"] for one in found)
    assert validate(text.replace(fields, right.removeprefix("write ").strip("`"))) == []


def test_a_bound_beside_the_map_it_belongs_in_is_moved(validate):
    text = (
        f"{HEAD}steps:\n  - {{ id: r, type: repeat, until: '{{{{ true }}}}', repeat: {{ max: 2 }}, steps: [] }}\n{END}"
    )
    assert validate.only(text) == ("unknown-field", "move it into `repeat`, as `until`")
    moved = text.replace("until: '{{ true }}', ", "").replace("max: 2", "max: 2, until: '{{ true }}'")
    assert validate(moved) == []
    again = text.replace("max: 2", "max: 2, until: '{{ true }}'")
    assert validate.only(again) == ("unknown-field", "remove it: `repeat.until` is there already")


def test_an_arm_for_everything_else_is_a_condition(validate):
    text = f"{HEAD}steps:\n  - {{ id: b, type: branch, branches: [{{ default: true, steps: [] }}] }}\n{END}"
    assert validate.only(text) == ("unknown-field", "write it as `condition`")
    assert validate(text.replace("default: true", "condition: true")) == []


def test_a_node_has_a_name(validate):
    text = f"{HEAD}steps:\n  - {{ id: d, type: dag, nodes: [{{ id: one, steps: [] }}] }}\n{END}"
    assert validate.only(text) == ("unknown-field", "write it as `name`")
    assert validate(text.replace("id: one", "name: one")) == []


@pytest.mark.parametrize(
    ("step", "name", "right"),
    [
        ("type: wait, sleep: 10ms", "sleep", "for"),
        ("type: manual, message: look", "message", "instructions"),
        ("type: wait, sleep: soon", "sleep", "for"),
    ],
)
def test_a_field_by_another_name_is_not_missing_as_well(validate, step, name, right):
    text = f"{HEAD}steps:\n  - {{ id: a, {step} }}\n{END}"
    first, *more = sorted(validate(text), key=lambda one: one["rule"], reverse="unknown" not in step)
    found = {one["rule"]: one["hint"] for one in (first, *more)}
    assert found["unknown-field"] == f"write it as `{right}`"
    assert not {"missing-field", "wait-shape"} & set(found)
    left = validate(text.replace(f"{name}:", f"{right}:"))
    assert [one["rule"] for one in left] == [rule for rule in found if rule != "unknown-field"]


def test_a_map_where_a_list_belongs_is_put_into_one(validate):
    text = f"{HEAD}steps:\n  - {{ id: b, type: block, steps: [{{ id: v, type: wait, for: 1s }}], finally: {{ id: w, type: wait, for: 1s }} }}\n{END}"
    assert validate.only(text) == ("wrong-type", "begin each item with `- `, or put `[` and `]` around it")
    assert validate(text.replace("{ id: w, type: wait, for: 1s }", "[{ id: w, type: wait, for: 1s }]")) == []


@pytest.mark.parametrize(("written", "right"), [("selectatr('x')", "selectattr"), ("defualt('x')", "default")])
def test_a_misspelled_filter_is_corrected(validate, written, right):
    text = f'{HEAD}steps:\n  - {{ id: a, type: assert, assert: [{{ type: exists, value: "{{{{ word | {written} }}}}" }}] }}\n{END}'
    assert validate.only(text) == ("template-syntax", f"did you mean `{right}`?")


def test_an_invalid_action_of_a_tool_that_is_listed_by_its_path_is_an_error_where_it_is_used(validate):
    (validate.root / "my").mkdir()
    ship = SHIP.replace("TYPE", "int").replace("CWD", "tool") + "  # one more\n"
    (validate.root / "my" / "ship.tool.yaml").write_text(
        ship.replace("actions: {", "actions: { bad: { argv: [echo], exit_codes: x },")
    )
    step = "  - { id: a, type: tool, tool: ship, action: ACTION, inputs: { n: 1 } }\n"
    text = f"{HEAD}tools: [./my/ship.tool.yaml]\nsteps:\n{step}{END}"
    found = validate(text.replace("ACTION", "bad"))
    assert sorted((one["rule"], one["severity"]) for one in found) == [
        ("tool-invalid", "error"),
        ("wrong-type", "error"),
    ]
    found = validate(text.replace("ACTION", "do"))
    assert [(one["rule"], one["severity"]) for one in found] == [("wrong-type", "warning")]


def test_a_node_that_reads_what_another_one_sets_comes_after_it(validate):
    node = "{ name: NAME, MORE steps: [{ id: NAME, type: tool, tool: echo, scope: NAME, inputs: { n: TEXT } }] }"
    first = node.replace("NAME", "one").replace("MORE", "").replace("TEXT", "x")
    other = node.replace("NAME", "two").replace("MORE", "depends_on: [one],").replace("TEXT", "x")
    reads = node.replace("NAME", "three").replace("TEXT", "'{{ .two.out }}'")
    text = f"{HEAD}tools: [echo]\nsteps:\n  - {{ id: d, type: dag, nodes: [{first}, {other}, {reads}] }}\n{END}"
    rule, hint = validate.only(text.replace("MORE", ""))
    assert (rule, hint) == (
        "unresolved-variable",
        'let `three` come after `two`, or use `.two.out | default ""`',
    )
    assert validate(text.replace("MORE", "depends_on: [two],")) == []
    around = text.replace("MORE", "").replace("depends_on: [one]", "depends_on: [three]")
    rule, hint = validate.only(around)
    assert hint.startswith("move the step that sets it"), "the two would wait for each other"


@pytest.mark.parametrize("more", ["", ', "{{ .n }}"'])
def test_a_command_line_in_one_word_is_split(validate, more):
    tool = TOOL.replace('argv: ["echo", "{{ .n }}"]', f'argv: ["echo hi"{more}]').replace(
        "inputs: { n: {} }, ", "" if not more else "inputs: { n: {} }, "
    )
    rule, hint = validate.only(tool, "line.tool.yaml")
    assert rule == "program-missing"
    argv = re.fullmatch(r"no shell splits it: write `argv: (\[.*\])`", hint)[1]
    assert validate(tool.replace(f'["echo hi"{more}]', argv), "line.tool.yaml") == []


def test_a_field_in_a_list_of_exports_is_given_a_name(validate):
    validate(f"{HEAD}steps:\n{END}", "other.yaml")
    call = "  - { id: k, type: runbook, runbook: ./other.yaml, export: [outcome] }\n"
    text = f"{HEAD}steps:\n{call}{END}"
    rule, hint = validate.only(text)
    assert rule == "export-undeclared"
    assert validate(text.replace("export: [outcome]", re.search(r"`(export: .*)`$", hint)[1])) == []


@pytest.mark.parametrize(("written", "meant"), [("./nope.yaml", None), ("./oter.yaml", "./other.yaml")])
def test_only_a_similar_name_of_a_runbook_is_suggested(validate, written, meant):
    validate(f"{HEAD}steps:\n{END}", "p1.yaml")
    validate(f"{HEAD}steps:\n{END}", "other.yaml")
    rule, hint = validate.only(f"{HEAD}steps:\n  - {{ id: k, type: runbook, runbook: {written} }}\n{END}")
    assert rule == "runbook-not-found"
    assert hint == (
        f"did you mean `{meant}`?" if meant else "the path starts at the directory of the file that it is written in"
    )


@pytest.mark.parametrize(("word", "field"), [("rescue", "on_failure"), ("always", "finally")])
def test_cleanup_of_a_runbook_in_words_of_other_tools_gets_its_own(validate, word, field):
    text = f"{HEAD}steps:\n  - {{ id: v, type: wait, for: 1s }}\n{END}{word}:\n  - {{ id: w, type: wait, for: 1s }}\n"
    assert validate.only(text) == ("unknown-field", f"write it as `{field}`")
    assert validate(text.replace(word, field)) == []


def test_the_member_of_an_item_that_a_hint_names_is_there(validate):
    text = f"{HEAD}tools: [echo]\nsteps:\n  - {{ id: a, type: wait, for: 1s, for_each: {{ over: [1], as: i }} }}\n"
    text += f'  - {{ id: z, type: tool, tool: echo, inputs: {{ n: "{{{{ .a.rounds }}}}" }} }}\n{END}'
    rule, hint = validate.only(text)
    assert (rule, "index .a 0 'rounds'" in hint) == ("unresolved-variable", True)
    assert validate(text.replace("{ .a.rounds }", "{ index .a 0 'rounds' }")) == []
