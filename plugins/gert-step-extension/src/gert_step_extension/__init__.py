"""The step type ``extension``: hands a step to a runner program of its own."""

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
            timeout=60.0,
            summary="Hands the step to a runner program over JSON-RPC.",
        )
    ]
