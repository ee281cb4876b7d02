"""The step type ``approval``: asks people for their approval before the run continues."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Contract, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``approval``; its ``timeout`` is when the request expires, not a deadline of the step."""
    return [
        StepType(
            name="approval",
            model="gert_step_approval.step:ApprovalStep",
            run="gert_step_approval.step:run",
            gate="gert_step_approval.step:gate",
            outputs="gert_step_approval.step:outputs",
            contract=Contract(effects=("human",), idempotent=True),
            calls_tools=False,
            owns=frozenset({"timeout"}),
            also_called={
                **dict.fromkeys(("approve", "gate"), ""),
                **dict.fromkeys(("prompt", "Message"), "message"),
                **dict.fromkeys(
                    ("min", "min_approvals", "required_approvals", "MinRequiredApprovals"), "min_approvers"
                ),
                "Approvers": "approvers",
                **dict.fromkeys(("expires", "expires_in", "expiry"), "timeout"),
            },
            summary="Asks people for their approval before the run continues.",
        )
    ]
