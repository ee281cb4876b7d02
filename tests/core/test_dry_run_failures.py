"""What may fail in a real run: a dry-run shows the blocks and outcomes behind a failure, and validation reckons with it."""

from __future__ import annotations

import pytest
from guarding import Guarding
from lab import Lab

from gert_core.engine.progress import Progress
from gert_core.validation import validate_runbook


class Listener(Progress):
    """What a dry-run tells: arms and outcomes."""

    def __init__(self):
        self.arms = []
        self.outcomes = []

    def arm(self, step, name, why):
        self.arms.append(name)

    def possible(self, outcome):
        self.outcomes.append(outcome.code)


@pytest.fixture
def lab(tmp_path) -> Lab:
    made = Lab(tmp_path)
    made.runner.registry = made.registry_with(Guarding())
    return made


def dry(lab, steps, **options):
    seen = Listener()
    return lab(steps, mode="dry-run", progress=seen, **options), seen


TOOL = "{{ id: {0}, type: tool, tool: lab, inputs: {{ value: {0} }} }}"
END = "{{ id: {0}, type: end, outcome: {{ category: resolved, code: {0} }} }}"


def guard(steps, *, rescue="", last="", more=""):
    """A guard whose blocks hold tools, and ends where a name begins with ``end``."""

    def block(names):
        return ", ".join((END if name.startswith("end") else TOOL).format(name) for name in names.split())

    return (
        f"- {{ id: g, type: guard, steps: [{block(steps)}], rescue: [{block(rescue)}], last: [{block(last)}]{more} }}\n"
    )


# -- dry-run -----------------------------------------------------------------------------------------------------------


def test_a_block_that_runs_after_a_caught_failure_is_shown(lab):
    ran, seen = dry(lab, guard("push", rescue="undo", last="tell"))
    assert list(ran.steps) == ["g/0/push", "g/1/undo", "g/2/tell", "g", "done"]
    assert seen.arms == ["rescue", "last"]
    assert lab.calls == []


def test_the_outcomes_before_and_after_a_caught_failure_are_possible(lab):
    ran, seen = dry(lab, guard("push end_pushed", rescue="undo end_undone"), end=False)
    assert seen.outcomes == ["end_pushed", "end_undone"]
    assert {outcome.code for outcome in ran.result.possible} == {"end_pushed", "end_undone"}
    assert ran.result.outcome is None


def test_the_steps_after_a_block_that_may_fail_before_its_end_are_shown(lab):
    ran, seen = dry(lab, guard("push end_pushed", rescue="undo"))
    assert list(ran.steps)[-2:] == ["g", "done"]
    assert seen.outcomes == ["end_pushed", "ok"]


def test_nothing_comes_after_ways_that_all_end(lab):
    ran, seen = dry(lab, guard("push end_pushed", rescue="end_undone"))
    assert "done" not in ran.steps
    assert seen.outcomes == ["end_pushed", "end_undone"]


def test_a_block_that_cannot_fail_is_known(lab):
    steps = "- { id: g, type: guard, steps: [{ id: ok, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }], rescue: [%s] }"
    ran, seen = dry(lab, steps % TOOL.format("undo"))
    assert list(ran.steps) == ["g/0/ok", "g", "done"]
    assert seen.arms == []


def test_a_block_that_certainly_fails_is_known(lab):
    steps = "- { id: g, type: guard, then: go_on, steps: [{ id: no, type: assert, assert: [{ type: equals, value: 1, expected: 2 }] }], rescue: [%s] }"
    ran, seen = dry(lab, steps % TOOL.format("undo"))
    assert list(ran.steps) == ["g/0/no", "g/1/undo", "g", "done"]
    assert seen.arms == []


def test_what_a_step_caught_is_not_known(lab):
    ran, _ = dry(
        lab,
        guard("push", rescue="undo")
        + "- { id: caught, type: tool, tool: lab, when: '{{ .g.caught }}' }\n"
        + "- { id: pushed, type: tool, tool: lab, when: '{{ eq .push.status `success` }}' }\n"
        + "- { id: undone, type: tool, tool: lab, when: '{{ ne .undo.status `not_run` }}' }\n",
    )
    assert [ran.steps[name] for name in ("caught", "pushed", "undone")] == ["success"] * 3


def test_caught_branches_are_not_known(lab):
    sides = ", ".join(f"[{TOOL.format(name)}]".replace("inputs:", f"scope: {name}, inputs:") for name in "ab")
    steps = f"- {{ id: s, type: sides, sides: [{sides}] }}\n"
    ran, _ = dry(lab, steps + "- { id: next, type: tool, tool: lab, when: '{{ eq .a.status `success` }}' }")
    assert ran.steps["next"] == "success"


CONTAINERS = {
    "repeat": "- {{ id: c, type: repeat, repeat: {{ max: 1 }}, continue_on_fail: true, steps: [{0}] }}\n",
    "branch": "- {{ id: c, type: branch, continue_on_fail: true, branches: [{{ condition: true, steps: [{0}] }}] }}\n",
    "parallel": "- {{ id: c, type: parallel, continue_on_fail: true, branches: [{{ steps: [{0}] }}] }}\n",
    "for_each": "- {{ id: c, type: branch, for_each: {{ as: x, over: [1] }}, continue_on_fail: true, branches: [{{ condition: true, steps: [{0}] }}] }}\n",
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_roll_back_after_a_container_that_may_fail_is_shown(lab, kind):
    steps = CONTAINERS[kind].format(TOOL.format("push"))
    ran, _ = dry(lab, steps + "- { id: undo, type: tool, tool: lab, when: '{{ ne .step.c.status `success` }}' }")
    assert ran.steps["undo"] == "success"


@pytest.mark.parametrize("kind", CONTAINERS)
def test_the_outcome_after_a_container_that_may_fail_is_shown(lab, kind):
    steps = CONTAINERS[kind].format(f"{TOOL.format('push')}, {END.format('end_pushed')}")
    ran, seen = dry(lab, steps + "- { id: undo, type: tool, tool: lab }")
    assert ran.steps["undo"] == "success"
    assert seen.outcomes == ["end_pushed", "ok"]


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_container_that_ends_before_anything_can_fail_ends_the_run(lab, kind):
    ran, seen = dry(lab, CONTAINERS[kind].format(END.format("end_now")) + "- { id: undo, type: tool, tool: lab }")
    assert "undo" not in ran.steps
    assert seen.outcomes == ["end_now"]


def test_a_loop_over_unknown_items_may_have_none(lab):
    ran, seen = dry(
        lab,
        f"""
        - {{ id: a, type: tool, tool: lab }}
        - id: each
          type: branch
          for_each: {{ as: x, over: "{{{{ .a.value }}}}" }}
          branches: [{{ condition: true, steps: [{END.format("end_inside")}] }}]
        - {{ id: b, type: tool, tool: lab }}
        """,
    )
    assert ran.steps["b"] == "success"
    assert seen.outcomes == ["end_inside", "ok"]


def test_a_failure_inside_that_is_continued_after_is_no_failure_of_the_container(lab):
    steps = CONTAINERS["branch"].format("{ id: push, type: tool, tool: lab, continue_on_fail: true }")
    ran, _ = dry(lab, steps + "- { id: undo, type: tool, tool: lab, when: '{{ ne .c.status `success` }}' }")
    assert ran.steps["undo"] == "skipped"


def test_what_steps_inside_a_container_that_may_fail_set_is_not_known(lab):
    """The assertion is executed in a dry-run, but in a real run it may not be reached."""
    inside = f"{TOOL.format('push')}, {{ id: look, type: assert, assert: [{{ type: equals, value: 1, expected: 1 }}] }}"
    ran, _ = dry(
        lab,
        CONTAINERS["branch"].format(inside)
        + "- { id: looked, type: tool, tool: lab, when: '{{ .look.passed }}' }\n"
        + "- { id: not_looked, type: tool, tool: lab, when: '{{ eq .look.status `not_run` }}' }\n",
    )
    assert ran.steps["looked"] == ran.steps["not_looked"] == "success"


def test_values_that_a_repeated_block_exports_are_not_known_after_its_first_round(lab):
    ran, _ = dry(
        lab,
        """
        - id: r
          type: repeat
          repeat: { max: 3 }
          steps: [ { id: look, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ] } ]
        - { id: more, type: tool, tool: lab, when: "{{ gt .r.iterations 2 }}" }
        """,
    )
    assert ran.steps["more"] == "success"


# -- validation --------------------------------------------------------------------------------------------------------


def findings(lab, steps, *, end=False):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps, end=end))
    found = validate_runbook(path, registry=lab.runner.registry)
    return [(d.rule, str(d.severity)) for d in found.diagnostics]


UNENDED, WARNED = [("end-unreachable", "error")], [("end-unreachable", "warning")]


def test_a_handled_failure_reaches_the_end_of_the_steps(lab):
    assert findings(lab, guard("push end_pushed", rescue="undo")) == UNENDED
    lab.on_call = lambda call: call.inputs.update(exit=1) if call.inputs["value"] == "push" else None
    ran = lab(guard("push end_pushed", rescue="undo", more=", then: go_on"))
    assert ran.steps["done"] == "success", "what validation reckons with happens"


def test_ways_that_all_end_are_valid(lab):
    assert findings(lab, guard("push end_pushed", rescue="undo end_undone")) == []
    assert findings(lab, guard("push", rescue="undo", last="end_last")) == []
    assert findings(lab, guard("end_now", rescue="undo")) == []


def test_a_step_after_a_handled_failure_is_reachable(lab):
    assert findings(lab, guard("push end_pushed", rescue="undo"), end=True) == []


def test_a_block_that_always_runs_last_may_or_may_not_handle_a_failure(lab):
    assert findings(lab, guard("push end_pushed", last="tell")) == WARNED
    assert findings(lab, guard("push end_pushed", last="tell"), end=True) == []


def test_a_failure_nothing_handles_ends_the_run(lab):
    assert findings(lab, guard("push end_pushed")) == []


def test_a_block_and_the_one_that_handles_its_failure_never_collide(lab):
    steps = guard("push", rescue="undo", more="").replace("id: undo,", "id: undo, export: [value],")
    assert findings(lab, steps.replace("id: push,", "id: push, export: [value],"), end=True) == []
    both = guard("push again").replace("id: again,", "id: again, export: [value],")
    assert findings(lab, both, end=True) == [], "`push` only promotes it"
    both = both.replace("id: push,", "id: push, export: [value],")
    assert findings(lab, both, end=True) == [("export-collision", "error")]
