"""Sleeps for a number of seconds as a runbook step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core import hookimpl
from gert_core.api import StepType

if TYPE_CHECKING:
    from collections.abc import Iterator


@hookimpl
def gert_step_types() -> Iterator[StepType]:
    """Register the one step type of this plugin; its heavy parts are named and imported when a runbook uses it."""
    yield StepType(
        name="sleep",
        model="gert_step_sleep.step:Sleep",
        run="gert_step_sleep.step:run",
        fields={"slept": "float"},
        summary="Sleeps for a number of seconds.",
    )
