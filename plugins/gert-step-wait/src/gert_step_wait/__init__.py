"""The step type ``wait``: waits for a time, or looks again and again until a condition is true."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``wait``; its ``timeout`` is the time the condition has, not a deadline for the steps that look."""
    return [
        StepType(
            name="wait",
            model="gert_step_wait.step:WaitStep",
            run="gert_step_wait.step:run",
            blocks="gert_step_wait.step:blocks",
            check="gert_step_wait.step:check",
            detail="gert_step_wait.step:detail",
            contract=PURE,
            flow=Flow.IN_ORDER,
            fields={"rounds": "int", "waited": "float"},
            owns=frozenset({"timeout"}),
            also_called={
                **dict.fromkeys(("pause", "wait_for", "wait_for_connection", "waitForAwsResourceProperty"), ""),
                **dict.fromkeys(("wait", "sleep", "seconds", "duration"), "for"),
                "interval": "every",
                "poll": "every",
            },
            events={"wait_round": {"step_id": "string", "round": "int", "result": "bool"}},
            summary="Waits for a time, or looks again and again until a condition is true.",
        )
    ]
