"""The runbook step: the outcome of the other runbook, what is accepted, and what stays inside."""

from __future__ import annotations

import gert_step_runbook
import pytest

from gert_core.api import DocumentError
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: caller, inputs: { n: { type: int, default: 2 } } }
steps:
  - id: call
    type: runbook
    runbook: ./child.yaml
    inputs: { n: "{{ .n }}" }
    accept: [resolved]
  - type: finish
"""
CHILD = """
apiVersion: kernel/v0
meta:
  name: child
  inputs: { n: { type: int, required: true } }
  constants: { twice: "{{ .n }}{{ .n }}" }
steps:
  - { id: inner, type: runbook, runbook: sub/inner.yaml, when: "{{ eq .twice \\"22\\" }}" }
  - { id: done, type: finish }
"""
INNER = """
apiVersion: kernel/v0
meta: { name: inner }
steps:
  - { type: finish }
"""
SLOW = """
apiVersion: kernel/v0
meta: { name: child, inputs: { n: { type: int } } }
steps:
  - { id: s, type: kit_pause, seconds: 60 }
  - { type: finish }
"""
FILES = {"child.yaml": CHILD, "sub/inner.yaml": INNER, "slow.yaml": SLOW}


class TestRunbookConformance(StepTypeConformance):
    plugin = gert_step_runbook
    runbook = RUNBOOK
    files = FILES
    slow = RUNBOOK.replace("child.yaml", "slow.yaml")


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_runbook, finish]))


def test_the_outcome_is_a_field_and_an_event(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, files=FILES)
    ran.assert_outcome("resolved")
    assert [key for key in ran.steps if "/" in key] == ["call/0/inner/0/_finish_1", "call/0/inner", "call/0/done"]
    (event,) = ran.of("runbook_outcome", "call")
    assert event["outcome"]["category"] == "resolved"
    assert event["accepted"] is True
    assert ran.of("step_complete", "call")[0]["fields"]["outcome"] == event["outcome"]


def test_an_outcome_that_is_not_accepted_fails_the_step(runner: GertRunner) -> None:
    ran = runner(RUNBOOK.replace("[resolved]", "[needs_rca, escalated]"), files=FILES)
    assert ran.status == "failed"
    (failure,) = ran.result.failures
    assert (failure.key, failure.kind) == ("call", "outcome_not_accepted")
    assert failure.message == "./child.yaml ended resolved (finished), and accepted is needs_rca or escalated"
    assert ran.of("step_complete", "call")[0]["fields"]["outcome"]["category"] == "resolved"


@pytest.mark.parametrize(
    ("before", "after", "rule", "line"),
    [
        ("./child.yaml", "./chidl.yaml", "runbook-not-found", 7),
        ("./child.yaml", '"{{ .n }}.yaml"', "runbook-not-found", 7),
        ("[resolved]", "[resolvd]", "outcome-category", 9),
        ("[resolved]", "[]", "wrong-type", 9),
        ('inputs: { n: "', 'inputs: { m: 1, n: "', "input-unknown", 8),
        ('inputs: { n: "{{ .n }}" }', "inputs: {}", "input-missing", 8),
        ('inputs: { n: "{{ .n }}" }', "inputs: { n: [1] }", "input-type", 8),
    ],
)
def test_what_is_wrong_is_found_at_the_step(runner: GertRunner, before, after, rule, line) -> None:
    assert before in RUNBOOK
    with pytest.raises(DocumentError) as caught:
        runner(RUNBOOK.replace(before, after), files=FILES)
    (found,) = caught.value.diagnostics
    assert (found.rule, found.line) == (rule, line)
