"""The step type ``block``: several steps as one, with cleanup after a failure and cleanup that always runs."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``block``."""
    return [
        StepType(
            name="block",
            model="gert_step_block.step:BlockStep",
            run="gert_step_block.step:run",
            blocks="gert_step_block.step:blocks",
            check="gert_step_block.step:check",
            contract=PURE,
            flow=Flow.IN_ORDER,
            fields={"handled": "bool"},
            shares_scope=True,
            also_called={
                "block": "steps",
                "group": "",
                "try": "steps",
                **dict.fromkeys(
                    ("rescue", "catch", "onFailure", "on_error", "onError", "on-error", "errorhandler"), "on_failure"
                ),
                **dict.fromkeys(("always", "ensure"), "finally"),
            },
            summary="Groups steps; runs other steps when they fail, and others in any case.",
        )
    ]
