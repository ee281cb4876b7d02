"""The warning about outputs that may be missing: what makes them so, and which tests make them certain again."""

from __future__ import annotations

import re

import pytest
from doubts import LOOP, META, WHEN, block, doubtful, use, warnings
from lab import Lab, tool

from gert_core.validation import validate_runbook


@pytest.fixture
def lab(tmp_path) -> Lab:
    return doubtful(tmp_path)


@pytest.mark.parametrize(
    ("expression", "near"),
    [
        ('{{ eq .a.status "sucess" }}', "success"),
        ('{{ ne .step.a.status "OK" }}', "success"),
        ("{{ a.status in ['failed', 'Eror'] }}", "error"),
        ('{{ eq (.a.status | default "x") "failure" }}', "failed"),
        ('{{ eq "skiped" .a.status }}', "skipped"),
    ],
)
def test_a_status_is_never_a_word_that_no_step_has(lab, expression, near):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(SURE + use("1", f", when: {quoted(expression)}"), meta=META))
    (found,) = validate_runbook(path, registry=lab.runner.registry).diagnostics
    assert (found.rule, found.severity, found.hint) == ("never-equal", "warning", f"write `{near}`")
    assert found.line == 8


@pytest.mark.parametrize(
    "expression",
    [
        '{{ eq .a.status "not_run" }}',
        '{{ eq .a.status "running" }}',
        "{{ eq .a.status .on }}",
        '{{ eq .run.mode "x" }}',
    ],
)
def test_words_that_a_status_has_and_other_variables_are_fine(lab, expression):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(SURE + use("1", f", when: {quoted(expression)}"), meta=META))
    assert [
        d for d in validate_runbook(path, registry=lab.runner.registry).diagnostics if d.rule == "never-equal"
    ] == []


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


A = "- { id: a, type: tool, tool: lab, inputs: { value: 1 }%s }\n"
SKIPPED = A % ", when: '{{ .on }}'"
FAILING = A % ", continue_on_fail: true"
SURE = A % ""


ARM = block("""
    - id: pick
      type: branch
      branches:
        - { condition: "{{ .on }}", steps: [ { id: a, type: tool, tool: lab } ] }
        - { condition: default, steps: [ { id: other, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ] } ] }
""")
CAUGHT = block("""
    - id: pick
      type: branch
      continue_on_fail: true
      branches: [ { condition: true, steps: [ { id: a, type: tool, tool: lab } ] } ]
""")
JUMPED = "- { id: j, type: tool, tool: lab, scope: j, when: '{{ .on }}', next: use }\n" + SURE


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (SKIPPED, "step `a` may be skipped"),
        (FAILING, "step `a` may fail, and the run goes on"),
        (ARM, "step `a` runs on only some paths"),
        (CAUGHT, "step `a` runs on only some paths"),
        (JUMPED, "step `a` runs on only some paths"),
    ],
    ids=["skipped", "failing", "arm", "caught", "jumped over"],
)
@pytest.mark.parametrize(
    "expression", ["{{ .a.value }}", "{{ .step.a.value }}", "{{ .value }}", "x {{ value }}", "{{ eq .value 1 }}"]
)
def test_an_output_that_may_be_missing_is_warned_about(lab, steps, why, expression):
    (found,) = warnings(lab, steps + use(expression))
    assert str(found.severity) == "warning"
    assert found.message.endswith(f" may be undefined: {why}")
    written = re.search(r"write `(.*?)`", found.hint)[1].replace("'", '"')
    read = re.search(r"[.a-z]*value", expression)[0]
    assert warnings(lab, steps + use(expression.replace(read, written))) == [], "the hint, followed to the letter"


@pytest.mark.parametrize(
    "steps",
    [
        SURE,
        SURE + SKIPPED.replace("id: a", "id: b"),
        SURE + FAILING.replace("id: a", "id: b"),
        ARM.replace(
            "{ id: other, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ] }",
            "{ id: b, type: tool, tool: lab }",
        ),
        SURE + "- { id: back, type: tool, tool: lab, scope: b, next: { step: a, max: 1 } }\n",
    ],
    ids=["unguarded", "set before", "failed after", "both arms", "jump back"],
)
def test_an_output_that_is_set_on_every_path_is_not(lab, steps):
    assert warnings(lab, steps + use("{{ .value }}")) == []


@pytest.mark.parametrize("name", ["status", "retry_count", "exit_code"])
def test_what_a_step_has_in_any_case_never_warns(lab, name):
    assert warnings(lab, SKIPPED + use(f"{{{{ .a.{name} }}}}{{{{ .step.a.{name} }}}}")) == []


@pytest.mark.parametrize(
    "expression",
    [
        '{{ .a.value | default "" }}',
        '{{ and (eq .a.status "success") (eq .a.value 1) }}',
        '{{ and .on (eq .step.a.status "success") (eq .value 1) }}',
        "{{ a.value if a.status == 'success' else 0 }}",
        "{{ a.status == 'success' and a.value == 1 }}",
    ],
)
def test_a_fallback_or_a_test_in_the_expression_makes_it_certain(lab, expression):
    assert warnings(lab, SKIPPED + use(expression)) == []


@pytest.mark.parametrize(
    "expression", ['{{ and (eq .a.value 1) (eq .a.status "success") }}', "{{ or .on (eq .a.value 1) }}"]
)
def test_a_test_that_comes_too_late_does_not(lab, expression):
    assert len(warnings(lab, SKIPPED + use(expression))) == 1


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ('eq .a.status "success"', 0),
        ('and .on (eq .a.status "success")', 0),
        ("a.exit_code == 0", 0),
        ('or .on (eq .a.status "success")', 1),
        ('or (eq .a.status "success") (eq .a.status "failed")', 0),
        ("not .on", 1),
        ('eq .use.status "not_run"', 1),
        ('ne .a.status "skipped"', 0),
        ('ne .a.status "success"', 1),
        ('eq .a.status "failed"', 1),
        ('eq "success" .a.status', 0),
        ('not (eq .a.status "success")', 1),
        ('not (ne .a.status "success")', 0),
        ('eq .a.status "success" "failed"', 0),
        ('eq .a.status "success" "skipped"', 1),
        ('a.status in ["success", "failed"]', 0),
        ('a.status not in ["success"]', 1),
        ('a.status != "success"', 1),
        ('(a.status == "success") if on else (a.status == "failed")', 0),
        ('(a.status == "success") if on else (a.status == "skipped")', 1),
        (".a.status", 1),
        ('matches "succ.*" .a.status', 0),
    ],
)
def test_the_reader_s_own_when_counts(lab, condition, count):
    assert len(warnings(lab, SKIPPED + use("{{ .a.value }}", WHEN % condition))) == count


def around(condition, kind):
    reading = "{ id: use, type: tool, tool: lab, scope: u, inputs: { value: '{{ .a.value }}' } }"
    if kind == "when":
        return (
            f"- {{ id: r, type: repeat, repeat: {{ max: 2 }}, when: '{{{{ {condition} }}}}', steps: [ {reading} ] }}\n"
        )
    if kind == "arm":
        return f"- {{ id: p, type: branch, branches: [ {{ condition: '{{{{ {condition} }}}}', steps: [ {reading} ] }}, {{ condition: default, steps: [] }} ] }}\n"
    return f"- {{ id: p, type: branch, branches: [ {{ condition: '{{{{ {condition} }}}}', steps: [] }}, {{ condition: default, steps: [ {reading} ] }} ] }}\n"


@pytest.mark.parametrize("kind", ["when", "arm", "later arm"])
def test_a_condition_around_the_reader_counts_the_right_way_round(lab, kind):
    test, wrong = ("eq", "ne") if kind != "later arm" else ("ne", "eq")
    assert warnings(lab, SKIPPED + around(f'{test} .a.status "success"', kind)) == []
    assert len(warnings(lab, SKIPPED + around(f'{wrong} .a.status "success"', kind))) == 1
    assert len(warnings(lab, FAILING + around('eq .a.status "failed"', kind))) == 1
    assert len(warnings(lab, SKIPPED + around("not .on", kind))) == 1


def test_it_does_not_count_behind_them(lab):
    steps = SKIPPED + around('eq .a.status "success"', "arm") + use("{{ .a.value }}").replace("id: use", "id: more")
    assert len(warnings(lab, steps)) == 1


def test_a_test_that_would_have_ended_the_run_counts_behind_it(lab):
    end = "{ type: end, outcome: { category: escalated }%s }"
    guarded = "- " + end % WHEN % 'ne .a.status "success"' + "\n"
    arm = f"- {{ id: p, type: branch, branches: [ {{ condition: '{{{{ ne .a.status \"success\" }}}}', steps: [ {end % ''} ] }}, {{ condition: default, steps: [] }} ] }}\n"
    for steps in (guarded, arm):
        assert warnings(lab, FAILING + steps + use("{{ .a.value }}")) == []
        assert len(warnings(lab, FAILING + steps.replace("ne .a", "eq .a") + use("{{ .a.value }}"))) == 1
        failed = steps.replace('ne .a.status "success"', 'eq .a.status "failed" "error"')
        assert warnings(lab, FAILING + failed + use("{{ .a.value }}")) == []


def test_until_is_asked_with_the_steps_of_the_round(lab):
    loop = "- {{ id: r, type: repeat, repeat: {{ max: 3, until: '{{{{ {} }}}}' }}, steps: [ {{ id: a, type: tool, tool: lab, continue_on_fail: true }} ] }}\n"
    assert warnings(lab, loop.format('and (eq .a.status "success") (eq .a.value 1)')) == []
    assert len(warnings(lab, loop.format("eq .a.value 1"))) == 1


ENDS = LOOP.replace("[1]", "[1, 2], until: '{{ .on }}'") % ""


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("{{ .l.1.value }}", "`until` may end `l` before it"),
        ("{{ .step.l.1.value }}", "`until` may end `l` before it"),
        ("{{ .l.0.value }}", None),
        ("{{ .l }}", None),
        ('{{ pluck .l "value" }}', None),
    ],
)
def test_an_item_that_a_loop_may_not_come_to(lab, expression, why):
    found = warnings(lab, ENDS + use(expression))
    assert [one.message.partition(": ")[2] for one in found] == ([why] if why else [])
    for one in found:
        written = re.fullmatch(r"write `(.*)`", one.hint)[1].replace("'", '"')
        assert warnings(lab, ENDS + use(f"{{{{ {written} }}}}")) == []


AROUND = {
    "nothing": "- %s\n",
    "block": "- { id: one, type: block, steps: [ %s ] }\n",
    "parallel": "- { id: one, type: parallel, branches: [ { steps: [ %s ] }, { steps: [] } ] }\n",
    "jump": "- { id: one, type: tool, tool: lab, scope: s, next: l }\n"
    "- { id: two, type: tool, tool: lab, scope: s } # gert: ignore[unreachable-step]\n- %s\n",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("more", [", when: '{{ .on }}'", ", continue_on_fail: true"])
def test_results_of_a_loop_are_there_whatever_became_of_its_items(lab, more, around):
    reading = use('{{ .l }}{{ .l.0 }}{{ .l.0.status }}{{ .l.0.failure }}{{ pluck .l "value" }}')
    assert warnings(lab, AROUND[around] % (LOOP % more).strip("- \n") + reading) == []


@pytest.mark.parametrize(
    ("more", "why"),
    [(", when: '{{ .on }}'", "may be skipped"), (", continue_on_fail: true", "may fail, and the run goes on")],
)
@pytest.mark.parametrize("expression", ["{{ .l.0.value }}", "{{ .step.l.0.value }}", '{{ index .l 0 "value" }}'])
def test_outputs_of_their_items_may_be_missing(lab, more, why, expression):
    (found,) = warnings(lab, LOOP % more + use(expression))
    assert found.message.endswith(f" may be undefined: items of `l` {why}")
    assert found.hint.endswith("or read it only where `.l.0.status` is `success`")
    assert warnings(lab, LOOP % more + use(expression, WHEN % 'eq .l.0.status "success"')) == []
    assert warnings(lab, LOOP % "" + use(expression)) == []


def test_a_loop_without_failed_items_has_their_outputs(lab):
    tested = use("{{ .l.0.value }}", WHEN % 'eq .step.l.status "success"')
    assert warnings(lab, LOOP % ", continue_on_fail: true" + tested) == []
    assert len(warnings(lab, LOOP % ", when: '{{ .on }}'" + tested)) == 1


def test_scopes_and_exports_are_outputs_too(lab):
    scoped = SKIPPED.replace("id: a,", "id: a, scope: s, export: { out: value },")
    assert len(warnings(lab, scoped + use("{{ .scope.s.value }}"))) == 1
    assert len(warnings(lab, scoped + use("{{ .out }}"))) == 1


CLEANUP = """- id: group
  type: block
  steps: [ { id: a, type: tool, tool: lab } ]
  %s:
    - { id: use, type: tool, tool: lab, scope: u%s, inputs: { value: '%s' } }
"""


@pytest.mark.parametrize(
    ("where", "when", "read"),
    [
        ("on_failure", "", "{{ .failure.step }}"),
        ("finally", "", "{{ .failure }}"),
        ("finally", "", '{{ .failure.step | default "none" }}'),
        ("finally", "", '{{ failure.step if failure else "none" }}'),
        ("finally", ", when: '{{ .failure }}'", "{{ .failure.step }}"),
        ("finally", ", when: '{{ and .failure .on }}'", "{{ .failure.step }}"),
    ],
)
def test_a_failure_that_certainly_is_there_or_is_asked_for(lab, where, when, read):
    assert warnings(lab, CLEANUP % (where, when, read)) == []


@pytest.mark.parametrize(
    ("when", "read"),
    [("", "{{ .failure.step }}"), (", when: '{{ .on }}'", "{{ .failure.step }}"), ("", '{{ eq .failure.step "a" }}')],
)
def test_in_finally_there_need_not_be_a_failure(lab, when, read):
    (found,) = warnings(lab, CLEANUP % ("finally", when, read))
    assert found.message == "`.failure.step` may be undefined: `.failure` is null when nothing failed"
    fallback = re.search(r"write `(.+?)`, or", found.hint)[1].replace("'", '"')
    assert warnings(lab, CLEANUP % ("finally", when, read.replace(".failure.step", fallback))) == []
    ran = lab(CLEANUP % ("finally", when, read), meta=META)
    assert ran.result.failures[0].kind == "template", "the warning is true"


def test_jumps_elsewhere_do_not_make_a_failure_doubtful(lab):
    jump = "- { id: j, type: tool, tool: lab, scope: j, next: group }\n"
    assert warnings(lab, jump + CLEANUP % ("on_failure", "", "{{ .failure.step }}")) == []
    assert len(warnings(lab, jump + CLEANUP % ("finally", "", "{{ .failure.step }}"))) == 1


INNER = "{ id: a, type: tool, tool: lab, inputs: { value: 1 }, export: { got: value }%s }"
HOMES = {
    "repeat": "- { id: l, type: repeat, repeat: { max: 2 }, steps: [ %s ] }\n",
    "for_each": "- { id: l, type: block, for_each: { as: q, over: [ 1, 2 ] }, steps: [ %s ] }\n",
    "deep": "- { id: l, type: repeat, repeat: { max: 2 }, steps: [ { id: b, type: block, steps: [ %s ] } ] }\n",
    "block": "- { id: l, type: block, steps: [ %s ] }\n",
}


@pytest.mark.parametrize("more", [", when: '{{ .on }}'", ", continue_on_fail: true"])
@pytest.mark.parametrize("home", HOMES)
def test_the_hint_for_an_exported_name_works_wherever_its_step_stands(lab, home, more):
    steps = HOMES[home] % (INNER % more)
    (found,) = warnings(lab, steps + use("{{ .got }}"))
    fallback, tested = re.fullmatch(
        r"write `(.+?)`(?:, or read it only where `(.+)` is `success`)?", found.hint
    ).groups()
    assert warnings(lab, steps + use(f"{{{{ {fallback} }}}}")) == []
    assert (tested is None) == (home != "block")
    if tested:
        assert warnings(lab, steps + use("{{ .got }}", WHEN % f'eq {tested} "success"')) == []


def test_inside_the_loop_the_status_of_the_step_is_readable(lab):
    steps = "- { id: l, type: repeat, repeat: { max: 2 }, steps: [ %s, %s ] }\n"
    reading = "{ id: use, type: tool, tool: lab, scope: u, inputs: { value: '{{ .got }}' }%s }"
    (found,) = warnings(lab, steps % (INNER % ", when: '{{ .on }}'", reading % ""))
    assert found.hint.endswith(", or read it only where `.a.status` is `success`")
    assert warnings(lab, steps % (INNER % ", when: '{{ .on }}'", reading % WHEN % 'eq .a.status "success"')) == []


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("a.value is defined and a.value == 1", 0),
        ("a.value is defined", 0),
        ("step.a.value is defined", 0),
        ("a.value is not undefined and on", 0),
        ("not (a.value is not defined)", 0),
        ("a.value is not defined", 1),
        ("a is defined", 1),
        ("a.value is defined or on", 1),
        ("use.value is defined", 1),
    ],
)
def test_asking_whether_it_is_defined_counts(lab, condition, count):
    assert len(warnings(lab, SKIPPED + use("{{ .a.value }}", WHEN % condition))) == count


GROUP = "- { id: g, type: block, steps: [ %s ], on_failure: [ { id: f, type: tool, tool: lab, scope: f } ] }\n"


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ('and (eq .g.status "success") (not .g.handled)', 0),
        ('g.status == "success" and not g.handled', 0),
        ('g.status == "success" and g.handled == false', 0),
        ('eq .g.status "success"', 1),
        ("not .g.handled", 1),
        ('and (eq .g.status "success") .g.handled', 1),
    ],
)
def test_a_block_that_succeeded_without_a_handled_failure_has_run_its_steps(lab, condition, count):
    steps = GROUP % (A % "").strip("\n- ")
    assert len(warnings(lab, steps + use("{{ .a.value }}", WHEN % condition))) == count
    skipped = GROUP % SKIPPED.strip("\n- ")
    assert len(warnings(lab, skipped + use("{{ .a.value }}", WHEN % condition))) == 1


@pytest.mark.parametrize(
    ("between", "condition", "count"), [("", ".value", 0), ("", ".c.value", 1), ("d", ".value", 1)]
)
def test_the_same_when_means_that_both_run_if_nothing_changes_in_between(lab, between, condition, count):
    first = SURE.replace("id: a", "id: c")
    steps = first + SKIPPED.replace("id: a", "id: a, scope: a").replace(".on", ".value")
    again = first.replace("id: c", f"id: {between}") if between else ""
    assert len(warnings(lab, steps + again + use("{{ .a.value }}", WHEN % condition))) == count


def test_the_same_when_counts_around_the_reader_and_not_in_a_condition(lab):
    assert warnings(lab, SKIPPED + around(".on", "when")) == []
    assert (
        len(warnings(lab, FAILING.replace(" }\n", ", when: '{{ .on }}' }\n") + use("{{ .a.value }}", WHEN % ".on")))
        == 1
    )
    asked = "'{{ eq .a.value 1 }}'"
    steps = SKIPPED + SKIPPED.replace("id: a", "id: b").replace("'{{ .on }}'", asked)
    assert len(warnings(lab, steps + use("{{ .b.value }}", f", when: {asked}"))) == 2


OPTIONAL = tool("opt", outputs="{ k: { type: string, required: false }, sure: {} }")
READ = "- { id: a, type: tool, tool: opt, inputs: { outputs: { sure: 1 } }%s }\n"


def optional(lab, steps):
    lab.runner.write(OPTIONAL)
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps, meta=META, tools=OPTIONAL))
    return validate_runbook(path, registry=lab.runner.registry).diagnostics


@pytest.mark.parametrize(
    ("more", "expression"),
    [
        ("", "{{ .a.k }}"),
        ("", "{{ .step.a.k }}"),
        ("", "{{ a.k }}"),
        ("", "x {{ .k }}"),
        (", scope: s", "{{ .scope.s.k }}"),
        (", export: { out: k }", "{{ .out }}"),
        (", for_each: { as: i, over: [1] }", "{{ .a.0.k }}"),
    ],
)
def test_an_output_that_is_not_required_may_be_missing(lab, more, expression):
    steps = READ.replace(" }%s", f" }}{more}")
    (found,) = optional(lab, steps + use(expression))
    assert (found.rule, found.severity) == ("maybe-undefined", "warning")
    assert found.message.endswith(" may be undefined: the output is not required")
    ran = lab(steps + use(expression), meta=META, tools=OPTIONAL)
    assert ran.result.failures[0].kind == "template", "the warning is true"
    written = re.fullmatch(r"write `(.*)`", found.hint)[1].replace("'", '"')
    read = re.search(r"[.a-z0-9]*(k|out)(?= )", expression)[0]
    mended = steps + use(expression.replace(read, written))
    assert optional(lab, mended) == ()
    lab(mended, meta=META, tools=OPTIONAL).assert_outcome("resolved")


@pytest.mark.parametrize(
    ("steps", "reading"),
    [
        (READ % "", use("{{ .a.sure }}{{ .sure }}{{ .a.status }}")),
        (READ % "", use('{{ .a.k | default "x" }}{{ a.k | default("x") }}')),
        (READ % "", use("{{ .a.k }}", WHEN % "a.k is defined")),
        (READ % "", use('{{ a.k if a.k is defined else "none" }}')),
        (READ % "", use("1", ", when: '{{ a.k is defined and a.k == 1 }}'")),
        ("- { id: b, type: tool, tool: lab, export: { k: value } }\n" + READ % "", use("{{ .k }}")),
    ],
    ids=["required", "default", "tested around", "tested", "tested before", "there from before"],
)
def test_an_output_that_is_not_required_and_asked_for_is_fine(lab, steps, reading):
    assert [d for d in optional(lab, steps + reading) if d.rule == "maybe-undefined"] == []


def test_a_test_of_its_step_does_not_tell_that_an_output_is_there(lab):
    (found,) = optional(lab, READ % "" + use("{{ .a.k }}", WHEN % 'eq .a.status "success"'))
    assert found.hint == 'write `(.a.k | default "")`'
