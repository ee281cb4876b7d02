"""What is readable of the items of a loop over a block: the steps inside each of them, as validation knows them."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core.validation import validate_runbook

LOOP = """
- id: each
  type: block
  for_each: { as: n, over: [a, b, c], key: "{{ .n }}" }
  continue_on_fail: %s
  %s
  steps:
    - { id: one, type: tool, tool: lab, inputs: { value: "1{{ .n }}", exit: '{{ if_b }}' } }
    - { id: two, type: tool, tool: lab, scope: two, when: '{{ eq .n "a" }}', inputs: { value: "2{{ .n }}" } }
    - { id: inner, type: tool, tool: lab, for_each: { as: k, over: [x], key: "{{ .k }}" }, inputs: { value: "{{ .k }}{{ .n }}" } }
"""


@pytest.fixture
def lab(tmp_path) -> Lab:
    made = Lab(tmp_path)
    made.runner.write(tool("lab", outputs="{ value: { type: any } }"))
    return made


def loop(*, fails=False, more=""):
    return (LOOP % (str(fails).lower(), more)).replace("{{ if_b }}", '{{ eq .n "b" | int }}' if fails else "0")


def end(**meta):
    shown = ", ".join(f"{name}: '{text}'" for name, text in meta.items())
    return f"- {{ id: over, type: end, outcome: {{ category: resolved, meta: {{ {shown} }} }} }}\n"


def findings(lab, steps):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps, end=False))
    found = validate_runbook(path, registry=lab.runner.registry).diagnostics
    return [(d.rule, d.message, d.hint) for d in found]


READ = end(
    out="{{ .each.a.one.value }} {{ .each.c.one.exit_code }} {{ .each.a.value }}",
    how="{{ .each.a.two.status }} {{ .each.c.two.status }} {{ .each.c.two.value | default `none` }}",
    tries="{{ .each.a.one.attempts }} {{ .each.b.two.attempts }} {{ .each.b.one.retry_count }}",
    deep="{{ .each.b.inner.x.value }} {{ .each.b.inner.x.status }}",
    other='{{ index .each "c" "one" "value" }} {{ each.c.one.value }}',
    whole="{{ .each.b }}",
)
MEANS = {
    "out": "1a 0 1a",
    "how": "success skipped none",
    "tries": "1 0 0",
    "deep": "xb success",
    "other": "1c 1c",
    "whole": {"value": "1b"},
}


def test_steps_inside_an_item_are_read_through_the_loop(lab):
    assert findings(lab, loop() + READ) == []
    assert lab(loop() + READ, end=False).result.outcome.meta == MEANS


def test_a_resumed_run_reads_the_same(lab):
    whole = lab(loop() + READ, end=False)
    lines = whole.result.trace.read_bytes().splitlines(keepends=True)
    for size in range(20, len(lines), 17):
        whole.result.trace.write_bytes(b"".join(lines[:size]))
        again = lab.runner.resume(whole.result.run_id)
        assert again.result.outcome == whole.result.outcome, size


def test_a_dry_run_has_symbols_for_them_and_knows_statuses(lab):
    ran = lab(loop() + end(a="{{ .each.a.one.value }} {{ .each.c.two.status }}"), end=False, mode="dry-run")
    assert ran.result.outcome.meta == {"a": "{{ .each.a.one.value }} skipped"}


def test_steps_of_items_that_failed_or_did_not_run_have_a_status(lab):
    steps = loop(fails=True) + end(
        b="{{ .each.b.one.status }} {{ .each.b.two.status }} {{ .each.b.failure.kind }} {{ .each.c.one.status }}"
    )
    ran = lab(steps, end=False)
    assert ran.result.outcome.meta == {"b": "failed not_run exit_code success"}


@pytest.mark.parametrize(("fails", "more"), [(True, ""), (False, "when: '{{ ne .n `c` }}'")])
def test_how_the_steps_of_an_item_came_out_never_warns(lab, fails, more):
    read = end(
        a="{{ .each.b.one.status }} {{ .each.c.two.attempts }} {{ .each.c.one.retry_count }} {{ .each.b.handled }}"
    )
    assert findings(lab, loop(fails=fails, more=more) + read) == []
    ran = lab(loop(fails=fails, more=more) + read, end=False)
    assert ran.result.outcome.meta == {"a": f"{'failed' if fails else 'success'} 0 0 false"}
    ((rule, message, _),) = findings(lab, loop(fails=fails, more=more) + end(a="{{ .each.b.one.value }}"))
    assert (rule, message.split(":")[0]) == ("maybe-undefined", "`.each.b.one.value` may be undefined")


def test_names_that_an_item_does_not_have_are_found(lab):
    def told(text):
        return findings(lab, loop() + end(a="{{ " + text + " }}"))

    assert told(".each.a.on.value") == [("unresolved-variable", "`.each.a` has no `on`", "did you mean `.each.a.one`?")]
    assert told(".each.a.one.valu") == [
        ("unresolved-variable", "`.each.a.one` has no `valu`", "did you mean `.each.a.one.value`?")
    ]
    assert told(".each.a.valu") == [("unresolved-variable", "`.each.a` has no `valu`", "did you mean `.each.a.value`?")]
    assert [rule for rule, *_ in told('index .each "a" "one" "valu"')] == ["unresolved-variable"]


def test_an_output_inside_an_item_that_may_be_missing_is_found_unless_it_is_tested(lab):
    ((rule, message, hint),) = findings(lab, loop() + end(a="{{ .each.a.two.value }}"))
    assert (rule, message) == ("maybe-undefined", "`.each.a.two.value` may be undefined: step `two` may be skipped")
    assert hint.startswith("write `(.each.a.two.value | default ")
    assert hint.endswith("or read it only where `.each.a.two.status` is `success`")
    tested = end(a="{{ .each.a.two.value }}").replace(
        "type: end", "type: end, when: '{{ eq .each.a.two.status `success` }}'"
    )
    assert findings(lab, loop() + tested + end(b="x").replace("over", "last")) == []
    assert findings(lab, loop() + end(a='{{ .each.a.two.value | default "" }} {{ .each.a.one.value }}')) == []


@pytest.mark.parametrize(
    ("export", "hint"),
    [
        ("{ all: nope }", "its outputs: `handled`, `one`, `two`, `inner`, `value`"),
        ("{ all: one.valu }", "did you mean `one.value`?"),
        ("{ all: status }", "its outputs: `handled`, `one`, `two`, `inner`, `value`"),
        ("[ valu ]", "did you mean `value`?"),
    ],
)
def test_exports_of_what_no_item_has_are_found(lab, export, hint):
    ((rule, _, told),) = findings(lab, loop(more=f"export: {export}") + end(a="x"))
    assert (rule, told) == ("export-undeclared", hint)


def test_what_steps_inside_put_out_is_exported_as_a_map(lab):
    steps = loop(more="export: { ones: one.value }") + end(a="{{ .ones }}")
    assert findings(lab, steps) == []
    assert lab(steps, end=False).result.outcome.meta == {"a": {"a": "1a", "b": "1b", "c": "1c"}}


NESTED = """
- id: o
  type: block
  for_each: { as: x, over: [a, b], key: "{{ .x }}" }
  %s
  steps:
    - { id: i, type: tool, tool: lab, when: '{{ eq .y "p" }}', for_each: { as: y, over: [p, q], key: "{{ .y }}" }, inputs: { value: "{{ .x }}{{ .y }}" } }
"""


@pytest.mark.parametrize(
    ("more", "read", "tests"),
    [
        ("", ".o.a.i.p.value", [".o.a.i.p"]),
        ("continue_on_fail: true", ".o.b.i.p.value", [".o.b", ".o.b.i.p"]),
        ("continue_on_fail: true", ".o.b.i.p.status", [".o.b"]),
        ("when: '{{ eq .x `b` }}'", ".step.o.b.i.p.value", [".o.b", ".o.b.i.p"]),
    ],
)
def test_the_hint_for_an_item_inside_an_item_holds_to_the_letter(lab, more, read, tests):
    ((rule, _, hint),) = findings(lab, NESTED % more + end(a=f"{{{{ {read} }}}}"))
    assert rule == "maybe-undefined"
    fallback, told = hint.removeprefix("write `").split("`, or read it only where ")
    assert told.split("`")[1:-3:2] == [f"{test}.status" for test in tests]
    assert findings(lab, NESTED % more + end(a=f"{{{{ {fallback.replace(chr(34), '`')} }}}}")) == []
    asked = " ".join(f"(eq {test}.status `success`)" for test in tests)
    tested = end(a=f"{{{{ {read} }}}}").replace("type: end", f"type: end, when: '{{{{ and {asked} true }}}}'")
    assert findings(lab, NESTED % more + tested + end(b="x").replace("over", "last")) == []
    assert lab(NESTED % more + tested + end(b="x").replace("over", "last"), end=False).result.outcome.meta["a"]


def test_the_status_of_an_item_inside_an_item_never_warns_where_its_loop_has_begun(lab):
    read = end(a="{{ .o.a.i.q.status }} {{ .step.o.b.i.p.status }}")
    assert findings(lab, NESTED % "" + read) == []
    assert lab(NESTED % "" + read, end=False).result.outcome.meta == {"a": "skipped success"}


SIMPLE = "- {{ id: l, type: tool, tool: lab, scope: it, inputs: {{ value: 1 }}, for_each: {{ as: i, over: {}{} }} }}\n"
BY_ITEM = ", key: '{{ .i }}'"
BY_ID = ", key: '{{ .i.id }}'"


@pytest.mark.parametrize(
    ("over", "key", "path", "hint"),
    [
        ("[web, db]", BY_ITEM, "l.wep.value", "did you mean `.l.web`?"),
        ("[web, db]", BY_ITEM, "step.l.other.value", "it has `web`, `db`"),
        ("[{ id: web }]", BY_ID, "l.db.value", "it has `web`"),
        ("[web, db]", BY_ITEM, "scope.it.value", "the scopes set before it have `it`, `it/db`, `it/web`"),
        ("[web, db]", BY_ITEM, "scope.it.wep.value", "did you mean `.scope.it/web`?"),
        ("[web, db]", "", "scope.it.value", "the scopes set before it have `it`, `it/0`, `it/1`"),
    ],
)
def test_a_key_that_no_item_of_a_literal_list_has_is_an_error(lab, over, key, path, hint):
    ((rule, _, told),) = findings(lab, SIMPLE.format(over, key) + end(x=f"{{{{ .{path} }}}}"))
    assert (rule, told) == ("unresolved-variable", hint)


@pytest.mark.parametrize(
    ("over", "key", "path"),
    [
        *(
            ("[web, 1]", BY_ITEM, path)
            for path in ("l.web.value", "l.1.value", "scope.it.1.value", "scope.it/web.value")
        ),
        *(("[web, db]", BY_ITEM, path) for path in ("l.status", "l.retry_count", "step.l.failed", "l.db.status")),
        ("[web, db]", "", "scope.it.1.value"),
        ("[a/b, 'c d']", BY_ITEM, "scope.it.other.value"),
    ],
)
def test_keys_of_items_and_what_a_loop_has_beside_them_are_read(lab, over, key, path):
    book = SIMPLE.format(over, key) + end(x=f"{{{{ .{path} }}}}")
    assert findings(lab, book) == []
    if path != "scope.it.other.value":  # where a key needs quotes, none is judged
        assert lab(book, end=False).status == "completed"


@pytest.mark.parametrize(
    ("over", "key"),
    [
        ("[web, '{{ .run.id }}']", BY_ITEM),
        ("[web, db]", ", key: '{{ .i }}{{ .run.actor }}'"),
        ('\'{{ split "web db" " " }}\'', BY_ITEM),
    ],
)
def test_keys_that_runs_alone_tell_are_not_judged(lab, over, key):
    assert findings(lab, SIMPLE.format(over, key) + end(x="{{ .l.other.value }} {{ .scope.it.other.value }}")) == []
