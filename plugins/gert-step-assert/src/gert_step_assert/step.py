"""Model and run of ``assert``: every check is made, every failure has expected and actual."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from gert_core.api import Completed, Errored, ErrorKind, Failed, Result
from gert_core.kit.compare import check_pattern, contains, equal, matches, order, truth
from gert_core.kit.excerpts import quotable, shorten
from gert_core.kit.models import StepModel
from gert_core.kit.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import Finding, StepContext

_ORDER: Final[dict[str, tuple[str, Callable[[int], bool]]]] = {
    "gt": ("greater than", lambda c: c > 0),
    "ge": ("at least", lambda c: c >= 0),
    "lt": ("less than", lambda c: c < 0),
    "le": ("at most", lambda c: c <= 0),
}
_WITH_EXPECTED: Final = ("equals", "not_equals", "contains", "not_contains", *_ORDER, "in")
_WITH_PATTERN: Final = ("matches", "not_matches")
_NEGATIVE: Final = ("not_equals", "not_contains", "not_matches")
TYPES: Final = (*_WITH_EXPECTED, *_WITH_PATTERN, "exists", "expression")

_ALSO: Final = {
    **dict.fromkeys(("eq", "is", "=="), "equals"),
    **dict.fromkeys(("ne", "!="), "not_equals"),
    **dict.fromkeys(("regex", "regexp"), "matches"),
    **dict.fromkeys(("defined", "present"), "exists"),
    **dict.fromkeys(("true", "that"), "expression"),
    ">": "gt",
    ">=": "ge",
    "gte": "ge",
    "<": "lt",
    "<=": "le",
    "lte": "le",
}
"""What others call them."""


def _type(value: object) -> object:
    if value not in TYPES:
        near = nearest(str(value), TYPES, also=_ALSO)
        told = {"types": ", ".join(TYPES), "hint": f"write `{near}`" if near else "write one of these"}
        raise PydanticCustomError("assert-type", "unknown assertion type; known are {types}", told)
    return value


def _checks(value: object) -> object:
    if isinstance(value, list) and not value:
        hint = "add a check, such as `{type: equals, value: ..., expected: ...}`, or remove the step"
        raise PydanticCustomError("assert-empty", "an assert step needs at least one check", {"hint": hint})
    return value


class AssertCheck(StepModel):
    """One expectation."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"type": {"enum": list(_WITH_EXPECTED)}}},
                    "then": {"required": ["expected"]},
                },
                {
                    "if": {"properties": {"type": {"enum": list(_WITH_PATTERN)}}},
                    "then": {"required": ["pattern"], "properties": {"pattern": {"type": "string"}}},
                },
            ]
        }
    )

    type: Annotated[str, BeforeValidator(_type), WithJsonSchema({"enum": list(TYPES)})] = Field(
        description="How value and expectation are compared."
    )
    value: Any = Field(description="The value to check, usually a template.")
    expected: Any = Field(default=None, description="What the value is compared with.")
    pattern: str | None = Field(default=None, description="Regular expression, for matches and not_matches.")
    message: str | None = Field(default=None, description="Shown when the check fails.")

    @model_validator(mode="after")
    def _complete(self) -> AssertCheck:
        if self.type in _WITH_EXPECTED and "expected" not in self.model_fields_set:
            hint = "add `expected`, what the value is compared with"
            raise PydanticCustomError("missing-field", "{type} needs `expected`", {"type": self.type, "hint": hint})
        if self.type in _WITH_PATTERN and self.pattern is None:
            hint = "add `pattern`, a regular expression"
            raise PydanticCustomError("missing-field", "{type} needs `pattern`", {"type": self.type, "hint": hint})
        return self


class AssertStep(StepModel):
    """Expectations that must all be met."""

    checks: Annotated[list[AssertCheck], Field(min_length=1), BeforeValidator(_checks)] = Field(
        alias="assert", description="The checks; all are made."
    )


def check(step: AssertStep) -> list[Finding]:
    """Find patterns that cannot be searched."""
    return [
        finding
        for index, one in enumerate(step.checks)
        if one.pattern is not None and (finding := check_pattern(one.pattern, "assert", index, "pattern")) is not None
    ]


def detail(step: AssertStep) -> str:
    """Return what every check expects of which value."""
    return "; ".join(
        f"{one.value if isinstance(one.value, str) else _show(one.value)} is"
        f" {'not ' if one.type in _NEGATIVE else ''}{_wanted(one)}"
        for one in step.checks
    )


def run(step: AssertStep, ctx: StepContext) -> Result:
    """Make every check; the step fails if any check fails."""
    failures = []
    for check in step.checks:
        try:
            why = _failure_message(check)
        except (ValueError, TypeError) as error:
            return Errored(kind=ErrorKind.ASSERTION, message=str(error), fields={"passed": False})
        if why is not None:
            failures.append({"type": check.type, "expected": _expected(check), "actual": check.value, "message": why})
    if not failures:
        return Completed(fields={"passed": True})
    return Failed(
        kind=ErrorKind.ASSERTION,
        message="; ".join(str(failure["message"]) for failure in failures),
        fields={"passed": False},
        detail={"assertions": failures},
    )


def _failure_message(check: AssertCheck) -> str | None:
    """Return None when the check passes, else a message with expected and actual value."""
    negative = check.type in _NEGATIVE
    if _holds(check) != negative:
        return None
    prefix = f"{check.message}: " if check.message else ""
    return f"{prefix}expected {'not ' if negative else ''}{_wanted(check)}, got {_show(check.value)}"


def _holds(check: AssertCheck) -> bool:
    """Return whether the comparison is true, before ``not_`` is taken into account."""
    value, expected, kind = check.value, check.expected, check.type
    if kind in ("equals", "not_equals"):
        return equal(value, expected)
    if kind in ("contains", "not_contains"):
        return contains(value, expected)
    if kind in _WITH_PATTERN:
        return matches(check.pattern or "", value)
    if kind in _ORDER:
        return _ORDER[kind][1](order(value, expected))
    if kind == "in":
        return any(equal(value, option) for option in _options(expected))
    if kind == "exists":
        return value is not None and value != ""
    return truth(value)


def _wanted(check: AssertCheck) -> str:
    """Return what was expected, as text; built for checks that failed only."""
    kind, expected = check.type, check.expected
    if kind in ("equals", "not_equals"):
        return _show(expected)
    if kind in ("contains", "not_contains"):
        return f"something that contains {_show(expected)}"
    if kind in _WITH_PATTERN:
        return f"a match of /{check.pattern}/"
    if kind in _ORDER:
        return f"{_ORDER[kind][0]} {_show(expected)}"
    if kind == "in":
        return f"one of {_show(_options(expected))}"
    return "a value" if kind == "exists" else "true"


def _options(expected: object) -> list[object]:
    return expected if isinstance(expected, list) else [expected]


def _expected(check: AssertCheck) -> object:
    return check.pattern if check.type in _WITH_PATTERN else check.expected


def _show(value: object) -> str:
    text = json.dumps(quotable(value), ensure_ascii=False, default=str)
    return shorten(text, 201)


__all__ = ["AssertCheck", "AssertStep", "check", "detail", "run"]
