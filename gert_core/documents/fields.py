"""Field types shared by the document models: names, durations, choices, and optional fields that must not be null."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

if TYPE_CHECKING:
    from typing import LiteralString

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

NAME_PATTERN: Final = "^[A-Za-z_][A-Za-z0-9_-]*$"
TAG_PATTERN: Final = "^[a-z0-9][a-z0-9_.:/-]*$"
_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
DURATION_PATTERN: Final = (
    rf"^(?=.*[1-9])(?:{_NUMBER}|(?=[0-9])(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m(?!s))?"
    rf"(?:{_NUMBER}s)?(?:{_NUMBER}ms)?)$"
)
_DURATION: Final = re.compile(DURATION_PATTERN)
_PART: Final = re.compile(rf"({_NUMBER})(ms|d|h|m|s)?")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


class Model(BaseModel):
    """Base of every document model: strict types, no unknown fields, never changed after reading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True, protected_namespaces=())

    def is_given(self, name: str) -> bool:
        """Return whether the document itself has the field (as opposed to its default)."""
        return name in self.model_fields_set


def no_items() -> list[Any]:
    """Return an empty list, for ``default_factory``.

    Pydantic inspects the signature of a factory, and for ``list`` itself that takes (in a tokenizer) as long as
    checking a runbook of ten steps.
    """
    return []


def parse_duration(value: str | float) -> float:
    """Return the seconds of ``1h30m``, ``500ms`` or a number; raise ``ValueError`` with a message otherwise."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isfinite(value) and value > 0:
            return float(value)
        raise ValueError(f"a duration must be a positive number of seconds, not {value}")
    if not isinstance(value, str) or len(value) > 60 or not _DURATION.fullmatch(value):
        raise ValueError(f"{value!r} is not a valid duration; write one like 30s, 5m, 1h30m or 500ms")
    return sum(float(number) * _SECONDS[unit or None] for number, unit in _PART.findall(value))


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise PydanticCustomError("duration_type", "should be a duration such as 30s")
    try:
        return parse_duration(value)
    except ValueError as error:
        raise PydanticCustomError("duration-syntax", "{reason}", {"reason": str(error)}) from None


class _OneOrMany:
    """A list that may be written as its single item."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


class Choice:
    """A closed set of values whose violation has its own rule id: ``Annotated[str, Choice(rule, ...)]``."""

    def __init__(self, rule: LiteralString, *values: str) -> None:
        self._rule: LiteralString = rule
        self._values = values

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"type": "string", "enum": list(self._values)}

    def _check(self, value: str) -> str:
        if value in self._values:
            return value
        raise PydanticCustomError(
            self._rule, "{value} is not one of {values}", {"value": repr(value), "values": ", ".join(self._values)}
        )


def usable_pattern(value: str) -> str:
    """Return a regular expression that RE2 accepts; refuse any other."""
    from gert_core.template.errors import TemplateError
    from gert_core.template.regex import PATTERN_UNSUPPORTED, check_pattern

    try:
        check_pattern(value)
    except TemplateError as error:
        if error.rule == PATTERN_UNSUPPORTED:
            raise PydanticCustomError(
                PATTERN_UNSUPPORTED, "{reason}", {"reason": error.message, "hint": error.hint}
            ) from None
        # The field's name stands before it in the finding.
        reason = error.message.removeprefix("the pattern ")
        raise PydanticCustomError("regex_syntax", "{reason}", {"reason": reason}) from None
    return value


_T = TypeVar("_T")

if TYPE_CHECKING:
    Given = Annotated[_T | None, "may be left out"]
else:

    class Given:
        """``Given[int]``: an int, or ``None`` when the document leaves the field out; it must not write ``null``.

        Pydantic gets the type itself: what is written is checked against it, and a default is not checked at all.
        """

        def __class_getitem__(cls, given: object) -> object:
            return given


OneOrMany = Annotated[list[_T], _OneOrMany()]
"""``OneOrMany[str]``: always a list once read; a single item is allowed in the document."""

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A name templates can address: letters, digits, ``_`` and ``-``, no digit first."""

Text = Annotated[str, Field(min_length=1)]
"""A string that is not empty."""

Tag = Annotated[str, Field(pattern=TAG_PATTERN)]
"""An opaque resource or effect tag, in one spelling: no other letter case or look-alike passes by a rule."""

Scalar = str | bool | int | float
"""A single value, converted to a string where one is needed."""

Regex = Annotated[str, AfterValidator(usable_pattern)]
"""A regular expression."""

ValueType = Literal["string", "int", "float", "bool", "list", "object", "any"]
"""The types of values."""

Category = Annotated[str, Choice("outcome-category", "resolved", "escalated", "no_action", "needs_rca")]
"""A category of outcomes."""

Duration = Annotated[
    float,
    PlainValidator(_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": DURATION_PATTERN, "maxLength": 60},
            ],
            "examples": ["30s", "5m", "1h30m", 90],
        }
    ),
]
"""A positive time span, in seconds once read."""

__all__ = [
    "DURATION_PATTERN",
    "NAME_PATTERN",
    "TAG_PATTERN",
    "Category",
    "Choice",
    "Duration",
    "Given",
    "Model",
    "Name",
    "OneOrMany",
    "Regex",
    "Scalar",
    "Tag",
    "Text",
    "ValueType",
    "no_items",
    "parse_duration",
    "usable_pattern",
]
