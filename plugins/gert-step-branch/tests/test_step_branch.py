"""The branch step: the first true arm, one arm only."""

from __future__ import annotations

import gert_step_branch
import pytest

from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta:
  name: forks
  inputs: { severity: { type: string, default: low } }
steps:
  - id: triage
    type: branch
    branches:
      - condition: "{{ eq .severity \\"critical\\" }}"
        label: urgent
        steps: [ { id: stop_here, type: finish } ]
      - condition: "{{ ne .severity \\"none\\" }}"
        label: normal
        steps: []
      - condition: default
        steps: []
  - id: after
    type: finish
"""


class TestBranchConformance(StepTypeConformance):
    plugin = gert_step_branch
    runbook = RUNBOOK
    slow = RUNBOOK.replace("{ id: stop_here, type: finish }", "{ id: wait, type: kit_pause, seconds: 60 }")
    inputs = {"severity": "critical"}


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_branch, finish]))


@pytest.mark.parametrize(
    ("severity", "label", "reached"),
    [("critical", "urgent", "triage/0/stop_here"), ("low", "normal", "after"), ("none", "arm 3", "after")],
)
def test_the_first_true_arm_is_taken(runner: GertRunner, severity: str, label: str, reached: str) -> None:
    ran = runner(RUNBOOK, inputs={"severity": severity})
    assert [e["branch_label"] for e in ran.of("branch_enter")] == [label]
    assert [e["branch_label"] for e in ran.of("branch_exit")] == [label]
    assert reached in ran.steps
    assert ("after" in ran.steps) == (severity != "critical")


def test_no_true_condition_and_no_default_fails(runner: GertRunner) -> None:
    text = RUNBOOK.replace("      - condition: default\n        steps: []\n", "")
    ran = runner(text, inputs={"severity": "none"})
    ran.assert_failed("no_branch_matched")


def test_an_arm_may_jump_forward_in_the_list_of_its_branch(runner: GertRunner) -> None:
    text = """
    apiVersion: kernel/v0
    meta: { name: jumps, inputs: { skip: { type: bool, default: true } } }
    steps:
      - id: choose
        type: branch
        branches:
          - { condition: "{{ .skip }}", steps: [], next: last }
          - { condition: default, steps: [] }
      - id: middle
        type: branch
        branches: [ { condition: default, steps: [] } ]
      - { id: last, type: finish }
    """
    assert list(runner(text).steps) == ["choose", "last"]
    assert list(runner(text, inputs={"skip": False}).steps) == ["choose", "middle", "last"]
