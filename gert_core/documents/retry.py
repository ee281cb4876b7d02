"""The retry policy of a step: how often it is attempted, with which pauses and after which kinds of failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError, core_schema

from gert_core.api.error_kinds import ErrorKind
from gert_core.documents.fields import Duration, Given, Model, Text
from gert_core.documents.model_hints import suggest

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from gert_core.api import Contract

WORDS: Final = {"none": 1, "standard": 3, "aggressive": 5}
"""Policies that are written as one word, and how many attempts each allows."""
NEVER_RETRIED: Final = frozenset(
    {
        ErrorKind.SECRET_MISSING,
        ErrorKind.TRANSPORT_MISSING,
        ErrorKind.TOOL_UNDECLARED,
        ErrorKind.ACTION_UNKNOWN,
        ErrorKind.CONTRACT_EXCEEDED,
        ErrorKind.TEMPLATE,
        ErrorKind.WRONG_TYPE,
        ErrorKind.INPUT_MISSING,
        ErrorKind.INPUT_UNKNOWN,
        ErrorKind.INPUT_TYPE,
        ErrorKind.OUTPUT_TYPE,
        ErrorKind.SECRET_TOO_SHORT,
        ErrorKind.SECRET_LOST,
        ErrorKind.CONTRACT_VIOLATION,
        ErrorKind.REJECTED,
        ErrorKind.CANCELLED,
        ErrorKind.PLUGIN_FAILED,
        ErrorKind.EVIDENCE_UNAVAILABLE,
        ErrorKind.UNKNOWN_OUTCOME,
        ErrorKind.SCENARIO_MISS,
    }
)
"""Kinds of failures that another attempt with the same inputs cannot change, or that a person decided."""
_DELAY: Final = 2.0
_BACKOFF: Final = 2.0
_MAX_DELAY: Final = 60.0


def _some(kinds: object) -> object:
    if kinds == []:
        raise PydanticCustomError(
            "wrong-type",
            "`on` must not be empty",
            {"hint": "remove it: without `on` all kinds count that may be retried"},
        )
    return kinds


class RetryModel(Model):
    """How often a step is attempted, and how long the pauses between attempts are."""

    max: Annotated[int, Field(ge=1)] = Field(description="How many attempts at most, the first one included.")
    delay: Given[Duration] = Field(default=None, description="The pause before the second attempt; default 2s.")
    backoff: Given[Annotated[float, Field(ge=1, allow_inf_nan=False)]] = Field(
        default=None, description="By what each further pause is longer than the one before; default 2."
    )
    max_delay: Given[Duration] = Field(default=None, description="The longest pause; default 60s, or a longer `delay`.")
    on: Given[Annotated[list[Text], Field(min_length=1), BeforeValidator(_some)]] = Field(
        default=None, description="Only these kinds of failures lead to another attempt; default all that may."
    )


class _WordOrMap:
    """A policy that may be written as one word."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(_as_map, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [{"enum": list(WORDS)}, handler(schema)]}


def _as_map(value: object) -> object:
    if isinstance(value, str) and value in WORDS:
        return {"max": WORDS[value]}
    if isinstance(value, (dict, RetryModel)) or value is None:
        return value
    if isinstance(value, str):
        hint = suggest(value, WORDS) or "for a number of attempts write `retry: {max: 3}`"
    elif isinstance(value, int) and not isinstance(value, bool) and value > 0:
        hint = f"write `retry: {{max: {value}}}`"
    else:
        hint = "write `retry: none`, `retry: standard` or `retry: {max: 3}`"
    raise PydanticCustomError(
        "wrong-type", "`retry` should be {words} or a map with `max`", {"words": ", ".join(WORDS), "hint": hint}
    )


Retry = Annotated[RetryModel, _WordOrMap()]
"""A retry policy: a word, or a map with `max`."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """The policy that holds for a step, with every default filled in."""

    max: int
    delay: float = _DELAY
    backoff: float = _BACKOFF
    max_delay: float = _MAX_DELAY
    on: frozenset[str] | None = None
    """The kinds of failures that lead to another attempt; None: all that may."""

    @staticmethod
    def applies(contract: Contract) -> bool:
        """Return whether a step with this contract may be attempted again: that is safe, and may come out otherwise."""
        return contract.repeatable and not (contract.pure and contract.deterministic and not contract.reads)

    def covers(self, kind: str) -> bool:
        """Return whether a failure of this kind leads to another attempt."""
        return kind not in NEVER_RETRIED and (self.on is None or kind in self.on)

    def pause(self, attempt: int) -> float:
        """Return the seconds between an attempt, counted from 1, and the next one; the same in every run."""
        seconds = self.delay
        for _ in range(attempt - 1):
            seconds *= self.backoff
            if seconds >= self.max_delay or self.backoff == 1:
                break
        return min(seconds, self.max_delay)


def policy_of(step: RetryModel | None, tool: RetryModel | None) -> RetryPolicy | None:
    """Return what holds for a step: its own policy, and never more than its tool's; None when neither has one.

    Beside a tool's policy a step lowers the number of attempts, lengthens pauses and narrows the kinds; what it leaves
    out is as the tool has it.
    """
    if step is None or tool is None:
        given = step or tool
        return None if given is None else _filled(given)
    wide, own = _filled(tool), _filled(step)
    kinds = wide.on if own.on is None else own.on if wide.on is None else own.on & wide.on
    return RetryPolicy(
        max=min(own.max, wide.max),
        delay=wide.delay if step.delay is None else max(own.delay, wide.delay),
        backoff=wide.backoff if step.backoff is None else max(own.backoff, wide.backoff),
        max_delay=max(own.max_delay, wide.max_delay)
        if step.max_delay is not None or step.delay is not None
        else wide.max_delay,
        on=kinds,
    )


def _filled(given: RetryModel) -> RetryPolicy:
    delay = _DELAY if given.delay is None else given.delay
    return RetryPolicy(
        max=given.max,
        delay=delay if given.max_delay is None else min(delay, given.max_delay),
        backoff=_BACKOFF if given.backoff is None else given.backoff,
        max_delay=max(_MAX_DELAY, delay) if given.max_delay is None else given.max_delay,
        on=None if given.on is None else frozenset(given.on),
    )


__all__ = ["NEVER_RETRIED", "WORDS", "Retry", "RetryModel", "RetryPolicy", "policy_of"]
