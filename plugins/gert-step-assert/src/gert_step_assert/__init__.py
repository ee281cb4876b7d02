"""The step type ``assert``: compares values with expectations."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``assert``, a pure step with the field ``passed``."""
    return [
        StepType(
            name="assert",
            model="gert_step_assert.step:AssertStep",
            run="gert_step_assert.step:run",
            contract=PURE,
            calls_tools=False,
            check="gert_step_assert.step:check",
            detail="gert_step_assert.step:detail",
            fields={"passed": "bool"},
            also_called={
                **dict.fromkeys(("that", "checks", "conditions"), "assert"),
                "assertAwsResourceProperty": "",
            },
            summary="Checks values against expectations.",
        )
    ]
