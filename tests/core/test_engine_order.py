"""Blocks that come after others: overlap, joins, diamonds, cascades of failures, denials, suspension, retry, order."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core import hookimpl
from gert_core.api import Block, Branch, Completed, Flow, StepType
from gert_core.kit.models import StepModel
from gert_core.validation import validate_file

PAUSE = "pause: 0.1"


@pytest.fixture
def lab(tmp_path) -> Lab:
    made = Lab(tmp_path)
    made.runner.write(tool("lab", outputs="{ value: { type: any } }"))
    return made


def dag(*nodes: tuple[str, str, str], more: str = "") -> str:
    """A dag step; each node has a name, what it depends on, and one step in flow style."""
    lines = [f"- id: d\n  type: dag{more}\n  nodes:"]
    lines += [f"    - {{ name: {name}, depends_on: [{after}], steps: [ {step} ] }}" for name, after, step in nodes]
    return "\n".join(lines)


def step(name: str, inputs: str = "", *, of: str = "lab", more: str = "") -> str:
    return f"{{ id: {name}, type: tool, tool: {of}, scope: in_{name}, inputs: {{ value: {name}, {inputs} }}{more} }}"


def rules(lab, steps, tools=None):
    file = lab.directory / "checked.yaml"
    file.write_text(lab.book(steps, tools=tools))
    lab.runner.write(tools or {})
    return {d.rule for d in validate_file(file, registry=lab.runner.registry, environ={}).diagnostics}


def fields(ran):
    return ran.of("step_complete", "d")[0]["fields"]


def test_nodes_overlap_unless_one_depends_on_the_other(lab):
    lab(dag(("a", "", step("a", PAUSE)), ("b", "", step("b", PAUSE)), ("c", "a, b", step("c", PAUSE))))
    a, b, c = sorted(lab.calls, key=lambda call: call.inputs["value"])
    assert a.overlaps(b)
    assert not c.overlaps(a)
    assert not c.overlaps(b)


def test_the_limit_holds(lab):
    lab(dag(("a", "", step("a", PAUSE)), ("b", "", step("b", PAUSE)), more="\n  max_parallel: 1"))
    assert not lab.calls[0].overlaps(lab.calls[1])


def test_a_node_sees_what_the_nodes_before_it_have_set_and_no_other(lab):
    reads = "{ id: c, type: tool, tool: lab, scope: c, inputs: { value: '{{ .a.value }} {{ .b.value }}' } }"
    nodes = [
        ("c", "b", reads),
        ("b", "a", "{ id: b, type: tool, tool: lab, inputs: { value: '{{ .value }}{{ .a.status }}' } }"),
        ("a", "", "{ id: a, type: tool, tool: lab, inputs: { value: 1 } }"),
    ]
    ran = lab(dag(*nodes))
    assert ran.status == "completed", ran.result.failures
    assert lab.values() == [1, "1success", "1 1success"]
    assert rules(lab, dag(*nodes)) == set()
    assert rules(lab, dag(("c", "", reads), *nodes[1:])) == {"unresolved-variable"}


def test_ordered_nodes_may_set_the_same_name_and_the_later_one_counts(lab):
    first = "{ id: a, type: tool, tool: lab, inputs: { value: first } }"
    second = "{ id: b, type: tool, tool: lab, inputs: { value: second } }"
    look = "\n- { id: look, type: tool, tool: lab, inputs: { value: '{{ .value }}' } }"
    lab(dag(("b", "a", second), ("a", "", first)) + look)
    assert lab.values() == ["first", "second", "second"]
    assert rules(lab, dag(("b", "a", second), ("a", "", first)) + look) == set()
    assert "parallel-output-clash" in rules(lab, dag(("b", "", second), ("a", "", first)) + look)


def test_ordered_nodes_do_not_conflict(lab):
    files = tool("w1", writes="disk") | tool("w2", writes="disk")
    nodes = [("b", "a", step("b", of="w2")), ("a", "", step("a", of="w1"))]
    assert rules(lab, dag(*nodes), files) == set()
    assert rules(lab, dag(("b", "", nodes[0][2]), nodes[1]), files) == {"parallel-conflict"}
    ran = lab(dag(*nodes), tools=files)
    assert [call.tool for call in lab.calls] == ["w1", "w2"]
    assert ran.of("dag_start", "d")[0]["serialized"] == []


@pytest.mark.parametrize(("after", "rule"), [("b, nope", "dag-unknown-node"), ("b, c", "dag-cycle")])
@pytest.mark.parametrize(
    "reader",
    [
        "{ id: use, type: tool, tool: w, inputs: { value: '{{ .value }}' } }",
        "{ id: use, type: tool, tool: w, scope: u, inputs: { value: '{{ .a.value }}{{ .scope.s.value }}' } }",
        "{ id: g, type: block, steps: [ { id: use, type: tool, tool: w, inputs: { value: '{{ .value }}' } } ] }",
    ],
    ids=["sets the same", "by step and scope", "deeper"],
)
def test_where_the_order_is_wrong_that_is_all_that_is_reported(lab, after, rule, reader):
    """Nothing is known of what comes before what, so variables and conflicts can only be wrong because of it."""
    first = "{ id: a, type: tool, tool: w, inputs: { value: 1 } }, { id: s, type: tool, tool: w, scope: s }"
    steps = dag(("b", "", first), ("c", after, reader))
    assert rules(lab, steps, tools=tool("w", writes="disk")) == {rule}
    right = dag(("b", "", first), ("c", "b", reader))
    assert "dag" not in " ".join(rules(lab, right, tools=tool("w", writes="disk")))
    unrelated = "{ id: use, type: tool, tool: w, inputs: { value: '{{ .value }}' } }"
    separate = dag(("b", "", first), ("c", "", unrelated))
    assert "unresolved-variable" in rules(lab, separate, tools=tool("w", writes="disk"))


def test_conflicts_wait_in_an_order_that_never_deadlocks(lab):
    """``a`` comes after ``c``, conflicts with ``b``, and ``b`` with ``c``: by declaration alone each waits for one."""
    files = tool("w1", writes="x") | tool("w2", writes="x, y") | tool("w3", writes="y")
    nodes = [("a", "c", step("a", of="w1")), ("b", "", step("b", of="w2")), ("c", "", step("c", of="w3"))]
    ran = lab(dag(*nodes), tools=files)
    assert ran.status == "completed"
    assert lab.values() == ["b", "c", "a"]
    assert ran.of("dag_start", "d")[0]["serialized"] == [
        {"node": "a", "after": ["b"]},
        {"node": "c", "after": ["b"]},
    ]


def test_a_failure_cancels_what_comes_after_and_nothing_else(lab):
    nodes = [
        ("a", "", step("a", "exit: 3")),
        ("b", "a", step("b")),
        ("c", "b", step("c")),
        ("other", "", step("other")),
        ("last", "other", step("last")),
    ]
    ran = lab(dag(*nodes))
    assert ran.status == "failed"
    assert [failure.key for failure in ran.result.failures] == ["d/0/a"]
    assert set(lab.values()) == {"a", "other", "last"}
    assert fields(ran) == {
        "completed": ["other", "last"],
        "failed": ["a"],
        "cancelled": ["b", "c"],
        "summary": "2 of 5 nodes completed, 1 failed, 2 not started: b, c",
    }
    assert not [event for event in ran.events if event.step_key in ("d/1/b", "d/2/c")]


def test_the_summary_of_many_nodes_names_some_that_were_not_started(lab):
    ran = lab(dag(("a", "", step("a", "exit: 3")), *((f"n{number}", "a", step(f"s{number}")) for number in range(10))))
    named = ", ".join(f"n{number}" for number in range(8))
    assert fields(ran)["summary"] == f"0 of 11 nodes completed, 1 failed, 10 not started: {named} and 2 more"
    assert len(fields(ran)["cancelled"]) == 10


def test_the_fields_are_readable_when_the_run_continues(lab):
    look = "\n- { id: look, type: tool, tool: lab, inputs: { value: '{{ .d.failed }} {{ .b.status }}' } }"
    ran = lab(dag(("a", "", step("a", "exit: 3")), ("b", "a", step("b")), more="\n  continue_on_fail: true") + look)
    assert ran.status == "completed"
    assert lab.values() == ["a", '["a"] not_run']


def test_what_was_not_started_runs_after_the_failed_node_is_retried(lab):
    lab.on_call = lambda call: call.inputs.update(exit=3) if call.inputs["value"] == "a" else None
    ran = lab(dag(("a", "", step("a")), ("b", "a", step("b")), ("other", "", step("other"))))
    assert ran.status == "failed"
    lab.on_call = None
    again = lab.runner.resume(ran.result.run_id, retry_failed=True)
    assert again.status == "completed"
    assert sorted(lab.values()) == ["a", "a", "b", "other"]


def test_a_denied_node_ends_the_run_after_the_others(lab):
    files = tool("bad", effects="danger")
    meta = "governance: { rules: [ { effects: [danger], action: deny } ] }"
    nodes = [("a", "", step("a", of="bad")), ("b", "a", step("b")), ("other", "", step("other"))]
    ran = lab(dag(*nodes, more="\n  continue_on_fail: true"), tools=files, meta=meta)
    assert ran.status == "failed"
    assert lab.values() == ["other"]


def test_a_suspended_node_suspends_what_comes_after_it(lab):
    files = tool("asks", effects="danger")
    meta = "governance: { rules: [ { effects: [danger], action: require-approval } ] }"
    nodes = [("a", "", step("a", of="asks")), ("b", "a", step("b")), ("other", "", step("other"))]
    ran = lab(dag(*nodes), tools=files, meta=meta, approval="inbox")
    assert ran.status == "approval_pending"
    assert lab.values() == ["other"]


def test_an_end_is_the_outcome_and_nothing_after_it_starts(lab):
    end = "{ id: stop, type: end, outcome: { category: no_action, code: early } }"
    ran = lab(dag(("a", "", end), ("b", "a", step("b"))), end=True)
    assert (ran.status, ran.result.outcome.code) == ("completed", "early")
    assert lab.calls == []


def test_a_dry_run_and_a_replay_walk_in_order(lab):
    nodes = [("b", "a", step("b")), ("a", "", step("a"))]
    ran = lab(dag(*nodes), mode="dry-run")
    assert [key for key in ran.steps if key.startswith("d/")] == ["d/1/a", "d/0/b"]
    assert lab.calls == []


class OddStep(StepModel):
    """A step whose blocks a plugin made itself."""


def odd(*after: tuple[str, ...]):
    def blocks(step):
        return [Block(name=f"n{i}", steps=[], after=names) for i, names in enumerate(after)]

    def run(step, ctx):
        ctx.fork([Branch(block=block, key=number) for number, block in enumerate(ctx.blocks)])
        return Completed()

    class Plugin:
        @hookimpl
        def gert_step_types(self):
            return [StepType(name="odd", model=OddStep, run=run, blocks=blocks, flow=Flow.ALL_OF, summary="Odd.")]

    return Plugin()


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ([("n1",), ("n0",)], "blocks come after each other: n"),
        ([("n0",)], "blocks come after each other: n0 -> n0"),
        ([("nowhere",)], "block 'n0' comes after 'nowhere', which is not one of the blocks"),
    ],
)
def test_a_fork_refuses_what_cannot_be_ordered(lab, after, message):
    lab.runner.registry = lab.registry_with(odd(*after))
    ran = lab("- { id: d, type: odd }")
    assert ran.status == "error"
    assert message in ran.result.failures[0].message
