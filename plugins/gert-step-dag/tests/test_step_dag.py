"""The dag step: order, diamonds, failures that cancel what comes after, and what validation refuses."""

from __future__ import annotations

import gert_step_dag
import pytest

from gert_core.api import DocumentError
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: orders, inputs: { n: { type: int, default: 2 } } }
steps:
  - id: rollout
    type: dag
    max_parallel: "{{ .n }}"
    nodes:
      - { name: last, depends_on: [left, right], steps: [ { id: d, type: dag, nodes: [ { name: x, steps: [] } ] } ] }
      - { name: left, depends_on: [first], steps: [ { id: b, type: dag, nodes: [ { name: x, steps: [] } ] } ] }
      - { name: right, depends_on: [first], steps: [ { id: c, type: dag, nodes: [ { name: x, steps: [] } ] } ] }
      - { name: first, steps: [ { id: a, type: dag, nodes: [ { name: x, steps: [] } ] } ] }
  - type: finish
"""


class TestDagConformance(StepTypeConformance):
    plugin = gert_step_dag
    runbook = RUNBOOK
    slow = RUNBOOK.replace(
        "{ name: x, steps: [] }", "{ name: x, steps: [ { id: s, type: kit_pause, seconds: 60 } ] }", 1
    )


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_dag, finish]))


@pytest.mark.parametrize("n", [1, 4])
def test_a_diamond_runs_in_its_order(runner: GertRunner, n) -> None:
    ran = runner(RUNBOOK, inputs={"n": n})
    ran.assert_outcome("resolved")
    order = [key for key in ran.steps if key.count("/") == 2]
    assert order[0] == "rollout/3/a"
    assert order[-1] == "rollout/0/d"
    assert ran.of("step_complete", "rollout")[0]["fields"]["summary"] == "4 of 4 nodes completed"
    (start,) = ran.of("dag_start", "rollout")
    assert start["nodes"][1] == {"name": "left", "depends_on": ["first"]}
    assert start["serialized"] == []


def test_every_circle_is_reported_beside_unknown_nodes(runner: GertRunner) -> None:
    text = RUNBOOK.replace("name: first, steps", "name: first, depends_on: [first, nowhere, last], steps")
    with pytest.raises(DocumentError) as caught:
        runner(text)
    found = [d for d in caught.value.diagnostics if d.rule.startswith("dag-")]
    assert [d.rule for d in found].count("dag-unknown-node") == 1
    circles = {d.message.partition("circle: ")[2] for d in found if d.rule == "dag-cycle"}
    assert "first -> first" in circles
    assert len(circles) > 1


@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [
        ("[first], steps: [ { id: b", "[frist], steps: [ { id: b", ("dag-unknown-node", 10, "did you mean `first`?")),
        (
            "[first], steps: [ { id: b",
            "[lft], steps: [ { id: b",
            ("dag-unknown-node", 10, "the nodes are last, right, first"),
        ),
        ("name: first, steps", "name: first, depends_on: [last], steps", ("dag-cycle", None, None)),
        ("name: first, steps", "name: first, depends_on: [first], steps", ("dag-cycle", 12, None)),
        ("name: right", "name: left", ("name-collision", 11, "give one of them another name")),
    ],
)
def test_nodes_that_cannot_be_ordered_are_refused(runner: GertRunner, before, after, finding) -> None:
    assert before in RUNBOOK
    with pytest.raises(DocumentError) as caught:
        runner(RUNBOOK.replace(before, after))
    rule, line, hint = finding
    found = next(d for d in caught.value.diagnostics if d.rule == rule)
    assert line in (None, found.line)
    assert hint in (None, found.hint)
    if rule == "dag-cycle":
        assert found.hint.startswith("remove `")
