"""The step type ``manual``: a person does something and provides evidence."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Contract, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``manual``; its contract is a default that the author may replace."""
    return [
        StepType(
            name="manual",
            model="gert_step_manual.step:ManualStep",
            run="gert_step_manual.step:run",
            outputs="gert_step_manual.step:outputs",
            detail="gert_step_manual.step:detail",
            contract=Contract(effects=("human",)),
            calls_tools=False,
            relaxable=True,
            also_called={
                **dict.fromkeys(("pause", "human", "checklist", "ask", "inquiry", "confirm"), ""),
                **dict.fromkeys(("prompt", "message", "text"), "instructions"),
                "evidence": "required_evidence",
                "choices": "required_evidence[].options",
                "type": "required_evidence[].kind",
            },
            summary="Asks a person to do something and collects the evidence.",
        )
    ]
