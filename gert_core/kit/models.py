"""Field types for step models; import this where the model is, never in a plugin's entry module."""

from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from gert_core.kit.durations import Duration

STEPS: Final = "gert:steps"
"""Marks a field that is a child list of steps."""
EXPR: Final = "gert:expr"
"""Marks a field that is an expression evaluated later."""
LENIENT: Final = "gert:lenient"
"""Marks an expression in which the steps inside may leave names undefined."""
RAW: Final = "gert:raw"
"""Marks a field that is never rendered."""


class StepModel(BaseModel):
    """Base of every step model: unknown fields are errors, aliases and names both work."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True, defer_build=True)


class InputsModel(StepModel):
    """Base of step models that take ``inputs`` and ``inputs_from``; the core resolves both to ``ctx.inputs``."""

    inputs: dict[str, Any] = Field(default_factory=dict, description="Inputs, matched with the contract.")
    inputs_from: str | list[str] | None = Field(
        default=None, description="Constants or steps whose keys are spread into the inputs."
    )


def _steps(value: object) -> object:
    if not isinstance(value, list):
        raise PydanticCustomError("list_type", "Input should be a list of steps")
    return value


def _some_steps(value: object) -> object:
    if isinstance(value, list) and not value:
        raise PydanticCustomError("missing-field", "it has no steps: write at least one, or remove what has none")
    return _steps(value)


def _template(value: object, info: ValidationInfo) -> object:
    rendered = bool(info.context and info.context.get("rendered"))
    if rendered or not isinstance(value, str) or "{{" not in value:
        raise PydanticCustomError("template_type", "Input should be a template")
    return value


_T = TypeVar("_T")

Steps = Annotated[
    Any,
    BeforeValidator(_steps),
    WithJsonSchema({"type": "array", "items": {"$ref": "#/$defs/step"}}),
    STEPS,
]
"""A child list of steps: the raw nodes, with their positions."""

SomeSteps = Annotated[
    Any,
    BeforeValidator(_some_steps),
    WithJsonSchema({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}),
    STEPS,
]
"""A child list of at least one step."""

Expr = Annotated[bool | str, EXPR]
"""An expression evaluated later by ``ctx.test``; never rendered before ``run``."""

LenientExpr = Annotated[bool | str, EXPR, LENIENT]
"""An ``Expr`` that is tested with ``undefined=...``: what a step inside may leave undefined is not warned about."""

Raw = Annotated[Any, RAW]
"""Data that is passed on unchanged: never a template."""

TemplateText = Annotated[Any, BeforeValidator(_template), WithJsonSchema({"type": "string", "pattern": "\\{\\{"})]
"""A string that contains a template until the step is rendered."""

Templated = Annotated[_T | TemplateText, Field(union_mode="left_to_right")]
"""``Templated[int]``: an int, or a template that renders to one."""

__all__ = [
    "EXPR",
    "LENIENT",
    "RAW",
    "STEPS",
    "Duration",
    "Expr",
    "InputsModel",
    "LenientExpr",
    "Raw",
    "SomeSteps",
    "StepModel",
    "Steps",
    "TemplateText",
    "Templated",
]
