"""The warning about outputs that may be missing: steps that jumps keep apart, and the first item of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from doubts import doubtful, use, warnings

from gert_core.validation import validate_runbook

if TYPE_CHECKING:
    from lab import Lab


@pytest.fixture
def lab(tmp_path) -> Lab:
    return doubtful(tmp_path)


ON = ", when: '{{ .on }}'"
FAILS = ", continue_on_fail: true"
EXPORTS = ", scope: %s, export: { out: value }"
JUMP = ", next: use"


def sets(name, more=""):
    return f"- {{ id: {name}, type: tool, tool: lab{more} }}\n"


def exports(name, more=""):
    return sets(name, EXPORTS % name + more)


def block(name, more=""):
    inner = exports(f"in_{name}").strip("- \n")
    return f"- {{ id: {name}, type: block{more}, steps: [ {inner} ] }}\n"


def pick(low="low", high="high", more=""):
    arms = (
        f"{{ condition: '{{{{ .on }}}}', next: {low}, steps: [] }}, {{ condition: default, next: {high}, steps: [] }}"
    )
    return f"- {{ id: pick, type: branch{more}, branches: [ {arms} ] }}\n"


OVER = "- { id: over, type: branch, branches: [ { condition: '{{ .on }}', next: use, steps: [] }, { condition: default, steps: [] } ] }\n"
END = "- { id: e, type: end, outcome: { category: resolved } }\n"


def arms(name, first, second=""):
    """Return a branch of which one arm jumps, with these steps in its arms."""
    jump = JUMP if second else ""
    one, other = first.strip("- \n"), second.strip("- \n")
    return f"- {{ id: {name}, type: branch, branches: [ {{ condition: '{{{{ .on }}}}'{jump}, steps: [ {one} ] }}, {{ condition: default, steps: [ {other} ] }} ] }}\n"


EACH = ", for_each: { as: n, over: [1] }"


@pytest.mark.parametrize(
    ("steps", "read"),
    [
        (pick() + exports("high", JUMP) + exports("low"), "out"),
        (pick() + sets("high", JUMP) + sets("low"), "value"),
        (pick(more=ON) + exports("high", JUMP) + exports("low"), "out"),
        (pick() + block("high", JUMP) + block("low"), "out"),
        (pick() + exports("high", EACH + JUMP) + exports("low", EACH), "out"),
    ],
    ids=["exported", "promoted", "guarded branch", "in blocks", "loops"],
)
def test_a_name_that_steps_set_which_jumps_keep_apart_is_certain_behind_them(lab, steps, read):
    assert warnings(lab, steps + use(f"{{{{ .{read} }}}}")) == []


@pytest.mark.parametrize(
    ("steps", "read"),
    [
        (pick() + exports("high", JUMP) + exports("low", ON), "out"),
        (pick() + exports("high", FAILS + JUMP) + exports("low"), "out"),
        (pick() + block("high", JUMP) + block("low", FAILS), "out"),
        (pick(low="use") + sets("high") + sets("low"), "value"),
        (sets("first", ON) + OVER + sets("second"), "value"),
        (arms("first", sets("in", ON)) + OVER + sets("second"), "value"),
        (arms("first", arms("deep", sets("in")), END), "value"),
    ],
    ids=["skipped", "failing", "failing block", "past both", "past the certain one", "in an arm", "deep in an arm"],
)
def test_a_name_that_is_missing_on_one_of_the_paths_is_not(lab, steps, read):
    (found,) = warnings(lab, steps + use(f"{{{{ .{read} }}}}"))
    assert found.message.startswith(f"`.{read}` may be undefined: step ")


def test_an_input_that_jumps_keep_from_being_replaced_has_its_own_value(lab):
    path = lab.directory / "book.yaml"
    meta = "inputs: { on: { type: bool, default: true }, value: { type: any, default: 1 } }"
    path.write_text(lab.book(sets("first", ON) + OVER + sets("second") + use("{{ .value }}"), meta=meta))
    found = validate_runbook(path, registry=lab.runner.registry).diagnostics
    assert "maybe-undefined" not in {one.rule for one in found}


KEYED = sets("l", ", for_each: { as: n, over: %s, key: '%s', until: '{{ .on }}' }")


@pytest.mark.parametrize(
    ("over", "key", "first", "later"),
    [
        ("[web, db]", "{{ .n }}", "web", "db"),
        ("[{ id: web }, { id: db }]", "{{ .n.id }}", "web", "db"),
        ("['1', '0']", "{{ .n }}", "1", "0"),
    ],
)
def test_only_the_first_item_of_a_keyed_loop_with_until_is_certain(lab, over, key, first, later):
    loop = KEYED % (over, key)
    assert warnings(lab, loop + use(f"{{{{ .l.{first}.value }}}}")) == []
    (found,) = warnings(lab, loop + use(f"{{{{ .l.{later}.value }}}}"))
    assert found.message == f"`.l.{later}.value` may be undefined: `until` may end `l` before it"


def test_no_item_is_certain_where_the_items_are_known_in_runs_only(lab):
    over = '{{ split "web db" " " }}'
    assert len(warnings(lab, KEYED % (f"'{over}'", "{{ .n }}") + use("{{ .l.web.value }}"))) == 1


SUCCEEDED = """, when: '{{ eq .w.status "success" }}'"""
AGAIN = ", next: { step: use, max: 1 }"
BACK = ", inputs: { value: 1 }" + AGAIN


def reported(lab, steps):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps, meta="inputs: { on: { type: bool, default: true } }"))
    found = validate_runbook(path, registry=lab.runner.registry).diagnostics
    return [(one.rule, one.message) for one in found if one.rule != "branch-not-exhaustive"]


@pytest.mark.parametrize(
    "steps",
    [
        use("{{ .w.value }}", SUCCEEDED) + sets("w", BACK),
        use("{{ .step.w.value }}", SUCCEEDED) + sets("w", BACK),
        use("{{ .value }}", SUCCEEDED) + sets("w", BACK),
        use("1", """, when: '{{ and (eq .w.status "success") (eq .w.value 1) }}'""") + sets("w", BACK),
        use("{{ .w.value }}", SUCCEEDED) + sets("w") + sets("z", ", scope: z" + BACK),
        use("{{ .w.value }}", SUCCEEDED) + arms("pick", sets("w"))[:-3] + AGAIN + " }\n",
    ],
    ids=["below its id", "below step", "promoted", "in the condition", "a jump behind it", "in an arm"],
)
def test_an_output_of_a_later_step_is_certain_where_a_jump_leads_back_after_its_success(lab, steps):
    assert reported(lab, steps) == []


def test_an_output_of_a_later_step_is_read_in_the_second_round(lab):
    assert lab(use("{{ .w.value }}", SUCCEEDED) + sets("w", BACK)).status == "completed"
    assert lab.values() == [1, 1, 1]


LATER = ("unresolved-variable", "`.w.value` is set by `w`, which runs only later")


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        (use("{{ .w.value }}", SUCCEEDED) + sets("w"), LATER),
        (use("{{ .w.value }}") + sets("w", BACK), LATER),
        (use("{{ .w.value }}", SUCCEEDED.replace("eq", "ne")) + sets("w", BACK), LATER),
        (use("{{ .w.value }}", SUCCEEDED) + sets("w", BACK.replace("use", "w")), LATER),
        (use("{{ .w.valu }}", SUCCEEDED) + sets("w", BACK), ("unresolved-variable", "`.w` has no `valu`")),
    ],
    ids=["no jump", "no test", "another test", "a jump elsewhere", "another name"],
)
def test_an_output_of_a_later_step_is_an_error_otherwise(lab, steps, error):
    assert reported(lab, steps) == [error]
