"""The sleep step, tested alone: against the core, with no other plugin installed."""

from __future__ import annotations

import gert_step_sleep
import pytest
from gert_step_sleep.step import Sleep
from pydantic import ValidationError

from gert_core.testing.conformance import StepTypeConformance

pytest_plugins = ["gert_core.testing"]


class TestSleep(StepTypeConformance):
    """Real runs, dry-run, replay, and a crash at every event: what every step type must survive."""

    plugin = gert_step_sleep
    runbook = """
        apiVersion: kernel/v0
        meta: { name: pause, inputs: { pause: { type: float, default: 0.01 } } }
        steps:
          - { id: settle, type: sleep, seconds: "{{ .pause }}" }
          - { type: finish }
    """
    slow = runbook.replace("0.01", "60")

    def test_it_tells_how_long_it_slept(self, runner) -> None:
        ran = runner(self.runbook, inputs={"pause": 0.02})
        ran.assert_outcome("resolved")
        (complete,) = ran.of("step_complete", "settle")
        assert complete["fields"] == {"slept": 0.02}


def test_the_plugin_is_healthy_and_provides_the_step(gert_registry) -> None:
    registry = gert_registry(gert_step_sleep)
    registry.require_healthy()
    assert registry.step_type("sleep").summary == "Sleeps for a number of seconds."


@pytest.mark.parametrize("wrong", [-1, "soon", None])
def test_seconds_are_a_number_or_a_template(wrong) -> None:
    with pytest.raises(ValidationError):
        Sleep(seconds=wrong)
