"""The repeat step: bounded iterations, binds, scopes, and the nested spelling."""

from __future__ import annotations

import gert_step_repeat
import pytest

from gert_core.api import DocumentError
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: loops, inputs: { most: { type: int, default: 3 } } }
steps:
  - id: outer
    type: repeat
    repeat: { max: "{{ .most }}", until: "{{ ge .repeat.index 1 }}" }
    steps:
      - { id: inner, type: repeat, repeat: { max: 2 }, steps: [] }
  - type: finish
"""


class TestRepeatConformance(StepTypeConformance):
    plugin = gert_step_repeat
    runbook = RUNBOOK
    slow = RUNBOOK.replace("steps: []", "steps: [ { id: wait, type: kit_pause, seconds: 60 } ]")


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_repeat, finish]))


def test_until_stops_and_max_bounds(runner: GertRunner) -> None:
    ran = runner(RUNBOOK)
    assert list(ran.steps) == ["outer/0/inner", "outer/1/inner", "outer", "_finish_1"]
    assert ran.of("repeat_start", "outer") == [{"step_id": "outer", "max": 3}]
    assert [e["until_result"] for e in ran.of("repeat_iteration", "outer")] == [False, True]
    assert ran.of("step_complete", "outer")[0]["fields"] == {"iterations": 2}
    one = runner(RUNBOOK, inputs={"most": 1})
    assert one.of("step_complete", "outer")[0]["fields"] == {"iterations": 1}


def test_without_until_it_runs_exactly_max_times(runner: GertRunner) -> None:
    ran = runner(RUNBOOK)
    assert len(ran.of("repeat_iteration", "outer/0/inner")) == 2


def test_nested_steps_make_a_step_of_any_type_a_repeat(runner: GertRunner) -> None:
    text = """
    apiVersion: kernel/v0
    meta: { name: loops }
    steps:
      - id: again
        type: finish
        repeat:
          max: 2
          steps: [ { id: inner, type: repeat, repeat: { max: 1 }, steps: [] } ]
      - type: finish
    """
    ran = runner(text)
    assert list(ran.steps) == ["again/0/inner", "again/1/inner", "again", "_finish_1"]


def test_a_repeat_without_a_bound_is_refused(runner: GertRunner) -> None:
    text = RUNBOOK.replace('max: "{{ .most }}", ', "")
    with pytest.raises(DocumentError) as caught:
        runner(text)
    assert [(d.rule, d.line) for d in caught.value.diagnostics] == [("repeat-unbounded", 7)]
