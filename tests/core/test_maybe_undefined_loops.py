"""The warning about outputs that may be missing: loops that may not have begun, and rounds before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from doubts import LOOP, META, WHEN, doubtful, use, warnings

from gert_core.validation import validate_runbook

if TYPE_CHECKING:
    from lab import Lab


@pytest.fixture
def lab(tmp_path) -> Lab:
    return doubtful(tmp_path)


SOME_PATHS = {
    "arm": "- { id: one, type: branch, branches: [ { condition: '{{ .on }}', steps: [ LOOP ] }, "
    "{ condition: default, steps: [] } ] }\n",
    "handled": "- { id: one, type: block, steps: [ LOOP ], on_failure: [ { id: h, type: tool, tool: lab, scope: h } ] }\n",
    "handler": "- { id: one, type: block, steps: [ { id: a, type: tool, tool: lab } ], on_failure: [ LOOP ] }\n",
}


@pytest.mark.parametrize("place", SOME_PATHS)
def test_items_of_a_loop_that_stands_on_some_paths_may_be_missing(lab, place):
    steps = SOME_PATHS[place].replace("LOOP", (LOOP % "").strip("- \n"))
    (found,) = warnings(lab, steps + use("{{ .l.0.value }}"))
    assert found.message.endswith("step `l` runs on only some paths")
    assert warnings(lab, steps + use("{{ .l.0.value }}", WHEN % 'eq .l.0.status "success"')) == []
    assert warnings(lab, steps + use("{{ .l.0.value }}", WHEN % 'eq .step.l.status "success"')) == []


WHOLE = [
    "{{ .l }}",
    "{{ len .l }}",
    '{{ pluck .l "status" }}',
    "{{ .step.l.0 }}",
    "{{ index .l 0 }}",
    "{{ l | length }}",
]


@pytest.mark.parametrize("expression", WHOLE)
@pytest.mark.parametrize("place", ["arm", "handler"])
def test_results_of_a_loop_that_may_not_have_begun_may_be_missing(lab, place, expression):
    steps = SOME_PATHS[place].replace("LOOP", (LOOP % ", when: '{{ .on }}'").strip("- \n"))
    (found,) = warnings(lab, steps + use(expression))
    assert found.message.endswith("may be undefined: step `l` runs on only some paths")
    fallback, tested = re.fullmatch(r"write `(.*)`, or read it only where `(.*)` is `success`", found.hint).groups()
    assert warnings(lab, steps + use(f"{{{{ {fallback} }}}}")) == []
    for test in (f'eq {tested} "success"', f'ne {tested} "not_run"', "l is defined"):
        assert warnings(lab, steps + use(expression, WHEN % test)) == []


@pytest.mark.parametrize("cleanup", ["on_failure", "finally"])
def test_cleanup_may_run_before_a_loop_has_begun(lab, cleanup):
    loop, first = (LOOP % "").strip("- \n"), "{ id: a, type: tool, tool: lab }, "
    block = f"- {{ id: g, type: block, when: '{{{{ .on }}}}', steps: [ %s ], {cleanup}: [ %s ] }}\n"
    inner = f"{{ id: i, type: block, %s steps: [ {loop} ] }}"
    reading = use("{{ len .l }}").strip("- \n")
    (found,) = warnings(lab, block % (first + loop, reading))
    assert found.hint.startswith("write `(.l | default (range 0))`")
    assert len(warnings(lab, block % (inner % "when: '{{ .on }}',", reading))) == 1
    assert warnings(lab, block % (loop, reading)) == warnings(lab, block % (inner % "", reading)) == []


@pytest.mark.parametrize("cleanup", ["on_failure", "finally"])
def test_cleanup_of_the_run_may_run_before_a_loop_has_begun(lab, cleanup):
    ends = "- { id: z, type: end, outcome: { category: resolved } }\n"
    reading = f"{cleanup}:\n" + use("{{ len .l }}")

    def doubts(steps):
        path = lab.directory / "book.yaml"
        path.write_text(lab.book(steps + ends, meta=META, end=False) + reading)
        return [d.rule for d in validate_runbook(path, registry=lab.runner.registry).diagnostics]

    assert doubts("- { id: a, type: tool, tool: lab }\n" + LOOP % "") == ["maybe-undefined"]
    assert doubts(LOOP % "") == []


def test_a_loop_that_a_later_round_reads_has_not_begun_in_the_first(lab):
    loop = f"- {{ id: r, type: repeat, repeat: {{ max: 2 }}, steps: [ %s, {(LOOP % '').strip('- ')} ] }}\n"
    assert len(warnings(lab, loop % use("{{ len .l }}").strip("- \n"))) == 1
    assert warnings(lab, loop % use("{{ len (.l | default (range 0)) }}").strip("- \n")) == []


NAMED = (
    "- { id: a, type: tool, tool: lab }\n"
    "- { id: l, type: block, for_each: { as: n, over: [1] }, steps: [ { id: b, type: tool, tool: lab%s } ] }\n"
)


def test_a_name_from_outside_a_loop_is_no_part_of_its_items(lab):
    reading = use("{{ .l.0.value }}")
    (found,) = warnings(lab, NAMED % ", when: '{{ .on }}'" + reading)
    assert found.message == "`.l.0.value` may be undefined: step `b` may be skipped"
    assert warnings(lab, NAMED % "" + reading) == []


def test_what_any_arm_in_an_item_sets_is_part_of_it(lab):
    arms = ", ".join(
        f"{{ condition: {asked}, steps: [ {{ id: {name}, type: tool, tool: lab }} ] }}"
        for asked, name in (("'{{ .on }}'", "b"), ("default", "c"))
    )
    loop = f"- {{ id: l, type: block, for_each: {{ as: n, over: [1] }}, steps: [ {{ id: x, type: branch, branches: [ {arms} ] }} ] }}\n"
    assert warnings(lab, "- { id: a, type: tool, tool: lab }\n" + loop + use("{{ .l.0.value }}")) == []


@pytest.mark.parametrize("own", [True, False])
def test_a_name_that_an_earlier_round_has_set_is_missing_in_the_first(lab, own):
    first = ", inputs: { value: '{{ .value }}' }"
    later = "" if own else ", { id: b, type: tool, tool: lab }"
    loop = f"- {{ id: r, type: repeat, repeat: {{ max: 2 }}, steps: [ {{ id: a, type: tool, tool: lab{first} }}{later} ] }}\n"
    assert [one.message.partition(":")[0] for one in warnings(lab, loop)] == ["`.value` may be undefined"]
    assert warnings(lab, "- { id: z, type: tool, tool: lab }\n" + loop) == []


@pytest.mark.parametrize("read", [".l.value", ".step.l.value", ".value"])
@pytest.mark.parametrize(
    ("more", "word"), [(", when: '{{ .on }}'", "skipped"), (", continue_on_fail: true", "error"), ("", None)]
)
def test_until_of_a_loop_sees_an_item_that_may_lack_its_outputs(lab, read, more, word):
    loop = LOOP.replace("[1]", "[1, 2], until: '{{ UNTIL }}'") % more
    found = warnings(lab, loop.replace("UNTIL", f"eq {read} 1"))
    assert len(found) == (word is not None)
    for one in found:
        assert one.hint.endswith("or read it only where `.l.status` is `success`")
    assert warnings(lab, loop.replace("UNTIL", f'and (eq .l.status "success") (eq {read} 1)')) == []
    if word is not None:
        assert warnings(lab, loop.replace("UNTIL", f'and (ne .l.status "{word}") (eq {read} 1)')) == []
    assert warnings(lab, loop.replace("UNTIL", f"eq ({read} | default 0) 1")) == []


@pytest.mark.parametrize(
    ("more", "read", "status"),
    [
        (", export: { out: value }", ".out", ".b.status"),
        (", scope: s, export: { out: value }", ".out", ".b.status"),
        (", for_each: { as: n, over: [1] }, export: { out: value }", ".out.0", ".step.b.status"),
    ],
)
def test_what_a_later_step_of_an_earlier_round_exports_may_be_missing(lab, more, read, status):
    loop = (
        "- { id: r, type: repeat, repeat: { max: 2 }, steps: [ { id: a, type: tool, tool: lab, scope: a, "
        "inputs: { value: '{{ %s }}' }%s }, { id: b, type: tool, tool: lab%s } ] }\n"
    )
    (found,) = warnings(lab, loop % (read, "", more))
    assert found.hint.endswith(f"or read it only where `{status}` is `success`")
    tested = loop % (read, f", when: '{{{{ eq {status} \"success\" }}}}'", more)
    assert warnings(lab, tested) == []
