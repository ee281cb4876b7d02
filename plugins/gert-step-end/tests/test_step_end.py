"""The end step: an outcome that is checked before anything runs."""

from __future__ import annotations

import gert_step_end
import pytest

from gert_core.api import DocumentError
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta:
  name: ends
  inputs: { cause: { type: string, default: stale_cache } }
steps:
  - type: end
    outcome:
      category: resolved
      code: dns_fixed
      meta: { root_cause: "{{ .cause }}", count: 3 }
"""


class TestEndConformance(StepTypeConformance):
    plugin = gert_step_end
    runbook = RUNBOOK


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_end]))


def test_the_outcome_is_rendered_printed_and_traced_once(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, inputs={"cause": "disk"})
    ran.assert_outcome("resolved", "dns_fixed")
    assert ran.result.outcome.meta == {"root_cause": "disk", "count": 3}
    resolved = ran.of("outcome_resolved")
    assert resolved == [{"step_id": "_end_1", "step_key": "_end_1", "outcome": ran.result.outcome.to_json()}]
    assert ran.of("run_complete")[0]["outcome"]["code"] == "dns_fixed"


def test_nothing_after_an_end_runs(runner: GertRunner) -> None:
    text = RUNBOOK + "  - { id: never, type: end, outcome: { category: escalated } }\n"
    ran = runner(text)
    assert list(ran.steps) == ["_end_1"]


def test_a_guarded_end_that_is_skipped_lets_the_run_go_on(runner: GertRunner) -> None:
    text = """
    apiVersion: kernel/v0
    meta: { name: e, inputs: { healthy: { type: bool, default: false } } }
    steps:
      - { id: fine, type: end, when: "{{ .healthy }}", outcome: { category: no_action } }
      - { id: broken, type: end, outcome: { category: escalated, code: down } }
    """
    runner(text).assert_outcome("escalated", "down")
    runner(text, inputs={"healthy": True}).assert_outcome("no_action")


def test_a_category_outside_the_vocabulary_is_refused_before_anything_runs(runner: GertRunner) -> None:
    with pytest.raises(DocumentError) as caught:
        runner(RUNBOOK.replace("category: resolved", "category: fixed"))
    found = caught.value.diagnostics[0]
    assert (found.rule, found.line) == ("outcome-category", 9)
    assert "resolved, escalated, no_action, needs_rca" in found.message
    assert not (runner.directory / "runs").exists()
