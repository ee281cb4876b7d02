"""Field types shared by the document models: names, durations, choices, and optional fields that must not be null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError, core_schema

from gert_core.kit.durations import DURATION_PATTERN, Duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import LiteralString

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

NAME_PATTERN: Final = "^[A-Za-z_][A-Za-z0-9_-]*$"
OUTPUT_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$"
TAG_PATTERN: Final = "^[a-z0-9][a-z0-9_.:/-]*$"


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


class ClosedChoice:
    """A closed set of values whose violation has its own rule id: ``Annotated[str, ClosedChoice(rule, ...)]``."""

    def __init__(self, rule: LiteralString, *values: str, also: Mapping[str, str] | None = None) -> None:
        self._rule: LiteralString = rule
        self._values = values
        self._also = also
        """What others call them."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"type": "string", "enum": list(self._values)}

    def _check(self, value: str) -> str:
        if value in self._values:
            return value
        from gert_core.kit.nearest import nearest  # only mistakes need it

        near = nearest(value, self._values, also=self._also)
        hint = f"write `{near}`" if near else f"write one of {', '.join(f'`{one}`' for one in self._values)}"
        told = {"value": repr(value), "values": ", ".join(self._values), "hint": hint}
        raise PydanticCustomError(self._rule, "{value} is not one of {values}", told)


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

Category = Annotated[str, ClosedChoice("outcome-category", "resolved", "escalated", "no_action", "needs_rca")]
"""A category of outcomes."""

__all__ = [
    "DURATION_PATTERN",
    "NAME_PATTERN",
    "OUTPUT_PATTERN",
    "TAG_PATTERN",
    "Category",
    "ClosedChoice",
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
