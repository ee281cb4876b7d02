"""The step type ``parallel``: runs several blocks at the same time on forked state."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``parallel``; all of its blocks run."""
    return [
        StepType(
            name="parallel",
            model="gert_step_parallel.step:ParallelStep",
            run="gert_step_parallel.step:run",
            blocks="gert_step_parallel.step:blocks",
            detail="gert_step_parallel.step:detail",
            contract=PURE,
            flow=Flow.ALL_OF,
            events={
                "parallel_fork": {
                    "branch_count": "int",
                    "branches": "list",
                    "forked_state_hash": "string",
                    "serialized": "bool",
                },
                "parallel_merge": {"merged_outputs": "list", "branch_outcomes": "list"},
            },
            summary="Runs several blocks at the same time.",
        )
    ]
