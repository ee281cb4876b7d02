"""The step type ``branch``: takes the first arm whose condition is true."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``branch``; exactly one of its blocks runs."""
    return [
        StepType(
            name="branch",
            model="gert_step_branch.step:BranchStep",
            run="gert_step_branch.step:run",
            blocks="gert_step_branch.step:blocks",
            check="gert_step_branch.step:check",
            contract=PURE,
            flow=Flow.ONE_OF,
            also_called={
                **dict.fromkeys(("if", "switch", "choice", "choose"), ""),
                **dict.fromkeys(("when", "case", "default", "else"), "branches[].condition"),
                **dict.fromkeys(("then", "do"), "branches[].steps"),
                **dict.fromkeys(("arms", "cases", "choices"), "branches"),
            },
            events={
                "branch_enter": {"branch_label": "string", "condition": "any", "index": "int"},
                "branch_exit": {"branch_label": "string", "index": "int"},
            },
            summary="Takes the first arm whose condition is true.",
        )
    ]
