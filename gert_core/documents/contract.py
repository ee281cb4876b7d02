"""The ``contract`` block as written in tools, actions and steps: every field may be left out."""

from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.documents.fields import Given, Model, Name, Tag, ValueType


class ParamModel(Model):
    """A declared input or output."""

    type: Given[ValueType] = Field(default=None, description="The type of the value; default `any`.")
    required: Given[bool] = Field(
        default=None, description="Whether it is required; inputs default to false, outputs to true."
    )
    default: Any = Field(default=None, description="Used when an input is not given.")
    description: Given[str] = Field(default=None, description="What it is, for people.")


class OutputModel(ParamModel):
    """A declared output."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["secret"], "properties": {"secret": {"const": True}}},
            "then": {"properties": {"type": {"const": "string"}}},
        }
    )

    secret: Given[bool] = Field(
        default=None, description="Whether the value, a string of at least 8 characters, is masked everywhere."
    )

    @model_validator(mode="after")
    def _text(self) -> Self:
        if self.secret and self.type not in (None, "string"):
            told = "a secret output is a string, not {type}"
            raise PydanticCustomError("wrong-type", told, {"type": self.type, "hint": "write `type: string`"})
        return self


class ContractModel(Model):
    """What an action declares about itself; inside a tool's action or a step it may only tighten."""

    inputs: Given[dict[Name, ParamModel]] = Field(default=None, description="The inputs it takes.")
    outputs: Given[dict[Name, OutputModel]] = Field(default=None, description="The outputs it gives.")
    effects: Given[list[Tag]] = Field(
        default=None, description="External systems it touches: network, filesystem, kubernetes, database ..."
    )
    writes: Given[list[Tag]] = Field(default=None, description="Resources it changes.")
    reads: Given[list[Tag]] = Field(default=None, description="Resources it observes.")
    deterministic: Given[bool] = Field(
        default=None, description="Whether the same inputs give the same outputs; default false."
    )
    idempotent: Given[bool] = Field(default=None, description="Whether it may safely run again; default false.")
    side_effects: Given[bool] = Field(
        default=None,
        description="Deprecated: write `effects` and `writes` instead.",
        json_schema_extra={"deprecated": True},
    )


__all__ = ["ContractModel", "OutputModel", "ParamModel"]
