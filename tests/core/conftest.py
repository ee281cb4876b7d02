"""Small step types of every shape, so that tests of the core need no installed plugin."""

from __future__ import annotations

import pytest
from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core import hookimpl
from gert_core.api import PURE, Block, Flow, StepType, ToolUse
from gert_core.kit.models import Expr, InputsModel, StepModel, Steps, Templated
from gert_core.plugin.registry import Registry


class Call(InputsModel):
    tool: str = Field(description="The tool.")
    action: str | None = Field(default=None, description="Its action.")


class Note(StepModel):
    text: str = Field(description="What to note.")
    times: Templated[int] = Field(default=1, description="How often.")


class Arm(StepModel):
    condition: Expr = Field(description="When.")
    steps: Steps = Field(description="What.")


class Choose(StepModel):
    arms: list[Arm] = Field(min_length=1, description="The arms.")


class Stop(StepModel):
    code: str = Field(default="done", description="Why.")


class LoopSpec(StepModel):
    max: int = Field(ge=1, description="Bound.")
    steps: Steps | None = Field(default=None, description="Nested steps.")


LISTED = {"required": ["steps"], "properties": {"steps": {"type": "array"}}}


class Loop(StepModel):
    # Steps in both places would be read in one only.
    model_config = ConfigDict(json_schema_extra={"not": {"allOf": [LISTED, {"properties": {"loop": LISTED}}]}})

    loop: LoopSpec = Field(description="The loop.")
    steps: Steps | None = Field(default=None, description="Steps.")

    @model_validator(mode="after")
    def _one_list(self) -> Loop:
        if self.steps is not None and self.loop.steps is not None:
            raise PydanticCustomError("wrong-type", "a loop has one list of steps: either `steps` or `loop.steps`")
        return self


class Custom(InputsModel):
    program: str = Field(description="What runs.")


def _loop_blocks(step: Loop) -> list[Block]:
    steps = step.steps if step.steps is not None else step.loop.steps
    return [Block(name="round", steps=steps or [], runs=(1, step.loop.max), binds={"index": "int"})]


TYPES = [
    StepType(
        name="call",
        model=Call,
        run=lambda step, ctx: None,  # type: ignore[arg-type, return-value]
        tool_use=lambda step: ToolUse(tool=step.tool, action=step.action),
    ),
    StepType(name="note", model=Note, run="nowhere:run", contract=PURE, outputs=lambda step: {"noted": "string"}),
    StepType(
        name="choose",
        model=Choose,
        run="nowhere:run",
        contract=PURE,
        flow=Flow.ONE_OF,
        blocks=lambda step: [
            Block(name=f"arm {i}", steps=arm.steps, condition=arm.condition) for i, arm in enumerate(step.arms)
        ],
    ),
    StepType(name="stop", model=Stop, run="nowhere:run", flow=Flow.TERMINAL),
    StepType(
        name="loop",
        model=Loop,
        run="nowhere:run",
        flow=Flow.IN_ORDER,
        blocks=_loop_blocks,
        claims="loop.steps",
        binds=True,
    ),
    StepType(
        name="custom",
        model=Custom,
        run="nowhere:run",
        requires_contract=True,
    ),
]


class SamplePlugin:
    """Registers the sample types as a plugin would."""

    @staticmethod
    @hookimpl
    def gert_step_types() -> list[StepType]:
        return list(TYPES)


@pytest.fixture
def sample_types() -> dict[str, StepType]:
    """The sample step types by name."""
    return {step_type.name: step_type for step_type in TYPES}


@pytest.fixture
def sample_registry() -> Registry:
    """A registry with the sample step types and nothing that is installed."""
    return Registry.build(scan=(), extra_plugins=[SamplePlugin()])
