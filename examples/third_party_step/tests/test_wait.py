"""The wait step, tested alone: against the core, with no other plugin installed."""

from __future__ import annotations

import gert_step_wait
import pytest
from gert_step_wait.step import Wait, run
from pydantic import ValidationError

pytest_plugins = ["gert_core.testing"]


class Clock:
    """The part of a step's context that this step uses."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def test_the_plugin_is_healthy_and_provides_the_step(gert_registry) -> None:
    registry = gert_registry(gert_step_wait)
    registry.require_healthy()
    assert registry.step_type("wait").summary == "Waits for a number of seconds."


def test_it_waits_as_long_as_the_runbook_says() -> None:
    clock = Clock()
    result = run(Wait(seconds=1.5), clock)
    assert clock.slept == [1.5]
    assert result.fields == {"waited": 1.5}


def test_seconds_may_be_a_template_but_nothing_else() -> None:
    assert Wait(seconds="{{ .pause }}").seconds == "{{ .pause }}"
    for wrong in (-1, "soon", None):
        with pytest.raises(ValidationError):
            Wait(seconds=wrong)
