"""Models of parts that most runbooks and tools do not have: secrets, jumps, loops, principals, artifacts and such."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from gert_core.documents.fields import Given, Model, Name, Text, no_items
from gert_core.kit.models import Expr, Templated


def _over(value: object) -> object:
    if isinstance(value, (list, dict)) or (isinstance(value, str) and "{{" in value):
        return value
    name = value.removeprefix(".") if isinstance(value, str) else ""
    hint = "write a list, such as `[a, b]`"
    if re.fullmatch(r"[A-Za-z_][\w.]*", name, re.ASCII):
        hint = f'write `"{{{{ .{name} }}}}"` for a variable, `[{name}]` for a list of one'
    raise PydanticCustomError(
        "for-each-shape", "`over` should be a template that gives a list, a list or a map", {"hint": hint}
    )


def _loop_name(value: str) -> str:
    if not value.isidentifier() or not value.isascii():
        raise PydanticCustomError(
            "for-each-shape",
            "`as` should be a simple name: letters, digits and `_`, no digit first",
            {"hint": "write `as: item`, and read `.item`"},
        )
    return value


Over = Annotated[
    Any,
    BeforeValidator(_over),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": "\\{\\{"}, {"type": "array"}, {"type": "object"}]}),
]
LoopName = Annotated[
    str,
    AfterValidator(_loop_name),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}),
]


class SecretModel(Model):
    """A secret by the environment variable that holds it."""

    env: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="The environment variable; its value is masked everywhere."
    )
    description: Given[str] = Field(default=None, description="What it is, for the person who provides it.")
    required: bool = Field(default=True, description="Whether steps that need it fail without it.")


class NextModel(Model):
    """A jump with a bound."""

    step: Name = Field(description="The step of the same list to go on at.")
    max: Given[Templated[Annotated[int, Field(ge=0)]]] = Field(
        default=None, description="How often the jump is taken; needed for jumps backwards."
    )


class ForEachModel(Model):
    """Runs the step once per item."""

    model_config = ConfigDict(
        json_schema_extra={"not": {"required": ["until", "parallel"], "properties": {"parallel": {"const": True}}}}
    )

    as_: LoopName = Field(alias="as", description="The variable that holds the item.", examples=["item"])
    over: Over = Field(description="A template that gives a list or a map, or a literal one.")
    key: Given[Text] = Field(default=None, description="A template that names each result; results then form a map.")
    parallel: bool = Field(default=False, description="Whether items run at the same time.")
    max_parallel: Given[Templated[Annotated[int, Field(ge=1)]]] = Field(
        default=None, description="How many items run at the same time at most; default 16."
    )
    until: Given[Expr] = Field(
        default=None, description="Asked after each item: the loop ends early when it is true. Not with `parallel`."
    )

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, value: object) -> object:
        if isinstance(value, str) and value.startswith("{{"):
            quote = "'" if "'" not in value else '"'
            hint = f"write `for_each: {{as: item, over: {quote}{value}{quote}}}`; the item is `.item` then"
        elif isinstance(value, list):
            hint = "write `for_each: {as: item, over: [...]}`; the item is `.item` then"
        else:
            return value
        raise PydanticCustomError("wrong-type", "`for_each` should be a map with `as` and `over`", {"hint": hint})

    @model_validator(mode="after")
    def _one_by_one(self) -> Self:
        if self.until is not None and self.parallel:
            raise PydanticCustomError(
                "for-each-shape",
                "`until` needs items one after another, not `parallel: true`",
                {"hint": "remove `parallel`, or remove `until`"},
            )
        return self


class VisibilityModel(Model):
    """Which variables an external runner receives; `*` is one segment, `**` any depth."""

    allow: Given[list[Text]] = Field(default=None, description="Only these variables; default all.")
    deny: list[Text] = Field(default_factory=no_items, description="Never these, even when allowed.")


class PrincipalModel(Model):
    """Who a step is attributed to."""

    kind: Literal["system", "human", "agent"] = Field(description="What kind of actor it is.")
    id: Text = Field(description="A stable identifier.")
    role: Given[str] = Field(default=None, description="Its role, in free words.")
    model: Given[str] = Field(default=None, description="The model of an agent.")


class ArtifactFile(Model):
    """A file that is copied into the run."""

    path: Text = Field(description="The file, from gert's working directory; may hold templates.")


class ArtifactValue(Model):
    """A value that is recorded."""

    value: Any = Field(description="The value; may hold templates.")
    schema_: Any = Field(default=None, alias="schema", description="What the value is, recorded with it as written.")


Artifacts = dict[Name, ArtifactFile | ArtifactValue]

__all__ = [
    "ArtifactFile",
    "ArtifactValue",
    "Artifacts",
    "ForEachModel",
    "NextModel",
    "PrincipalModel",
    "SecretModel",
    "VisibilityModel",
]
