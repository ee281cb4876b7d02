"""The step type ``extension``: executes a step in a runner program."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``extension``; its contract is the one the step declares."""
    return [
        StepType(
            name="extension",
            model="gert_step_extension.step:ExtensionStep",
            run="gert_step_extension.step:run",
            requires_contract=True,
            program="gert_step_extension.step:program",
            timeout=60.0,
            summary="Executes the step in a runner program over JSON-RPC.",
        )
    ]
