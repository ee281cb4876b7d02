"""Waits for a number of seconds as a runbook step."""

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
        name="wait",
        model="gert_step_wait.step:Wait",
        run="gert_step_wait.step:run",
        fields={"waited": "float"},
        summary="Waits for a number of seconds.",
    )
