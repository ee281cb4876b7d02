"""Model and run of ``repeat``: a bounded loop over one block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.api import Block, Completed
from gert_core.kit.models import Expr, StepModel, Steps, Templated

if TYPE_CHECKING:
    from gert_core.api import StepContext

BINDS = {"index": "int", "round": "int"}


def _bounded(value: object) -> object:
    if isinstance(value, dict) and value.get("max") is None:
        message = "a repeat needs `max`, the maximum number of iterations"
        raise PydanticCustomError("repeat-unbounded", message, {"hint": "add `max: 10`, or as often as it may run"})
    return value


class RepeatSpec(StepModel):
    """The bound and the condition of a loop."""

    max: Templated[Annotated[int, Field(ge=0)]] = Field(description="The maximum number of iterations.")
    until: Expr | None = Field(default=None, description="Stop as soon as this is true after an iteration.")
    steps: Steps | None = Field(default=None, description="The block, when written inside `repeat`.")


class RepeatStep(StepModel):
    """A block that runs several times."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["steps"], "properties": {"steps": {"type": "array"}}},
                {"properties": {"repeat": {"required": ["steps"], "properties": {"steps": {"type": "array"}}}}},
            ]
        }
    )

    repeat: Annotated[RepeatSpec, BeforeValidator(_bounded)] = Field(description="Bound and condition.")
    steps: Steps | None = Field(default=None, description="The steps of one iteration.")

    @model_validator(mode="after")
    def _one_block(self) -> RepeatStep:
        if (self.steps is None) == (self.repeat.steps is None):
            raise PydanticCustomError(
                "missing-field",
                "a repeat needs one list of steps: either `steps` or `repeat.steps`",
                {"hint": "add `steps`" if self.steps is None else "remove `repeat.steps`"},
            )
        return self


def body(step: RepeatStep) -> list[object]:
    """Return the raw steps of one iteration, wherever they were written."""
    found: list[object] | None = step.steps if step.steps is not None else step.repeat.steps
    assert found is not None  # noqa: S101 - the model requires exactly one of them
    return found


def blocks(step: RepeatStep) -> list[Block]:
    """Return one block that runs once or more often: a loop also with ``max: 1``, so what it sets stays inside."""
    until = "" if step.repeat.until is None else f", until {step.repeat.until}"
    return [
        Block(
            name="iteration",
            steps=body(step),
            runs=(int(step.repeat.max != 0), None),
            label=f"max {step.repeat.max}{until}",
            binds=BINDS,
        )
    ]


def run(step: RepeatStep, ctx: StepContext) -> Completed:
    """Run the block until the condition is true or the bound is reached."""
    (block,) = ctx.blocks
    ctx.emit("repeat_start", {"step_id": ctx.step_id, "max": step.repeat.max})
    rounds = 0
    for index in range(step.repeat.max):
        bind = {"index": index, "round": index}
        result = ctx.run_block(block, key=index, bind=bind)
        rounds += 1
        done = step.repeat.until is not None and ctx.test(step.repeat.until, bind=bind, after=result)
        ctx.emit("repeat_iteration", {"step_id": ctx.step_id, "index": index, "until_result": done})
        if done:
            break
    return Completed(fields={"iterations": rounds})


__all__ = ["RepeatSpec", "RepeatStep", "blocks", "run"]
