"""Model, gate and run of ``approval``: the core asks, the step tells who approved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.api import Completed, Gate
from gert_core.kit.models import Duration, StepModel

if TYPE_CHECKING:
    from gert_core.api import Result, StepContext

_GOES_ON: Final = frozenset({"continue", "skip", "ignore"})
_ENDS: Final = frozenset({"abort", "stop", "end", "reject", "cancel"})


def _known(value: object) -> object:
    """Refuse words that others use for what a rejection does, with how that is written."""
    if value in ("deny", "fail") or not isinstance(value, str) or value.lower() not in _GOES_ON | _ENDS:
        return value
    goes_on = value.lower() in _GOES_ON
    hint = "write `on_reject: fail` and, beside it, `continue_on_fail: true`" if goes_on else "write `on_reject: deny`"
    raise PydanticCustomError(
        "wrong-type", "`on_reject` should be `deny` or `fail`, not {value}", {"value": repr(value), "hint": hint}
    )


class ApprovalStep(StepModel):
    """An approval that the runbook itself demands."""

    message: str = Field(min_length=1, description="What is to be approved, shown to the approvers.")
    min_approvers: int = Field(default=1, ge=1, description="How many different people must approve.")
    approvers: list[str] = Field(
        default_factory=list,
        min_length=1,
        description="The people and groups (`group:NAME`) whose approval counts; all without it.",
    )
    timeout: Duration | None = Field(
        default=None, description="When the request expires; the shortest of this and of what policies set."
    )
    on_reject: Annotated[Literal["deny", "fail"], BeforeValidator(_known)] = Field(
        default="deny", description="What a rejection does: end the run, or fail the step unless a policy asked too."
    )

    @model_validator(mode="after")
    def _can_be_met(self) -> ApprovalStep:
        people = set(self.approvers)
        # How many people a group or a template stands for is known only when the step is reached.
        countable = people and not any(name.startswith("group:") or "{{" in name for name in people)
        if countable and len(people) < self.min_approvers:
            message = "`min_approvers` is {least}, but `approvers` names only {count}: it could never be approved"
            hint = f"write `min_approvers: {len(people)}`, or name more people"
            raise PydanticCustomError(
                "wrong-type", message, {"least": self.min_approvers, "count": len(people), "hint": hint}
            )
        return self


def gate(step: ApprovalStep) -> Gate:
    """Return what is asked for, on top of what policies require."""
    return Gate(
        message=step.message,
        min_approvers=step.min_approvers,
        approvers=tuple(step.approvers),
        timeout=step.timeout,
        fails=step.on_reject == "fail",
    )


def outputs(step: ApprovalStep) -> dict[str, str]:
    """Return the outputs: who approved."""
    del step
    return {"approver_id": "string", "approvers": "list"}


def run(step: ApprovalStep, ctx: StepContext) -> Result:
    """Return who approved: the step is executed only after its approval."""
    del step
    approvers = list(ctx.approvers)
    return Completed(outputs={"approver_id": approvers[-1], "approvers": approvers})


__all__ = ["ApprovalStep", "gate", "outputs", "run"]
