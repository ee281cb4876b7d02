"""The step type ``end``: ends the run with a structured outcome."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``end``, the standard terminal step."""
    return [
        StepType(
            name="end",
            model="gert_step_end.step:EndStep",
            run="gert_step_end.step:run",
            outcome="gert_step_end.step:outcome",
            contract=PURE,
            calls_tools=False,
            flow=Flow.TERMINAL,
            also_called=dict.fromkeys(("isEnd", "exit", "stop", "finish", "fail", "return", "raise", "throw"), ""),
            summary="Ends the run with a structured outcome.",
        )
    ]
