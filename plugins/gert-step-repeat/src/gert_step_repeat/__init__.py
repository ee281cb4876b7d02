"""The step type ``repeat``: runs a block up to a bound, until a condition is true."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``repeat``; it also claims steps of any type that nest ``repeat.steps``."""
    return [
        StepType(
            name="repeat",
            model="gert_step_repeat.step:RepeatStep",
            run="gert_step_repeat.step:run",
            blocks="gert_step_repeat.step:blocks",
            claims="repeat.steps",
            contract=PURE,
            flow=Flow.IN_ORDER,
            fields={"iterations": "int"},
            binds=True,
            also_called={
                **dict.fromkeys(("loop", "while"), ""),
                **dict.fromkeys(("max", "times", "count", "max_iterations"), "repeat.max"),
                "repeat": "repeat.max",
                "until": "repeat.until",
            },
            events={
                "repeat_start": {"step_id": "string", "max": "int"},
                "repeat_iteration": {"step_id": "string", "index": "int", "until_result": "bool"},
            },
            summary="Repeats a block until a condition is true, up to a bound.",
        )
    ]
