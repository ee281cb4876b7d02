"""The block step: what every step type must survive, and its own findings."""

from __future__ import annotations

import gert_step_assert
import gert_step_block
import pytest

from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: cleaning }
steps:
  - id: guarded
    type: block
    steps:
      - { id: fine, type: assert, assert: [ { type: equals, value: a, expected: a } ] }
      - { id: broken, type: assert, assert: [ { type: equals, value: a, expected: b } ] }
      - { id: never, type: assert, assert: [ { type: equals, value: a, expected: a } ] }
    on_failure:
      - { id: told, type: assert, assert: [ { type: equals, value: "{{ .failure.step }}", expected: broken } ] }
    finally:
      - { id: always, type: assert, assert: [ { type: equals, value: "{{ .failure.status }}", expected: failed } ] }
  - { id: after, type: assert, assert: [ { type: equals, value: "{{ .guarded.handled }}", expected: "true" } ] }
  - { type: finish }
"""
SLOW = """
apiVersion: kernel/v0
meta: { name: cleaning }
steps:
  - id: guarded
    type: block
    steps: [ { id: wait, type: kit_pause, seconds: 60 } ]
    finally: [ { id: always, type: assert, assert: [ { type: equals, value: a, expected: a } ] } ]
  - { type: finish }
"""


class TestBlockConformance(StepTypeConformance):
    plugin = gert_step_block
    helpers = (gert_step_assert,)
    runbook = RUNBOOK
    slow = SLOW


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    plugins = [gert_step_block, gert_step_assert, finish]
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=plugins))


def test_a_handled_failure_goes_on_after_the_block(runner: GertRunner) -> None:
    ran = runner(RUNBOOK)
    assert ran.status == "completed"
    assert list(ran.steps) == [
        "guarded/0/fine",
        "guarded/0/broken",
        "guarded/1/told",
        "guarded/2/always",
        "guarded",
        "after",
        "_finish_1",
    ]
    assert ran.of("step_complete", "guarded")[0]["fields"] == {"handled": True}
