"""Governance as written: the rules of a runbook's ``meta.governance`` and of policies."""

from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import AliasChoices, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.documents.fields import Category, ClosedChoice, Duration, Given, Model, OneOrMany, Tag, Text, no_items

_ACTS: Final = ("action", "default", "contract_violations", "serialize")
_ALSO: Final = {
    **dict.fromkeys(("ask", "approve", "require_approval", "prompt", "confirm"), "require-approval"),
    **dict.fromkeys(("reject", "forbid", "refuse"), "deny"),
    **dict.fromkeys(("permit", "accept", "pass"), "allow"),
}
"""What others call the actions."""
RuleAction = Annotated[str, ClosedChoice("governance-action", "allow", "require-approval", "deny", also=_ALSO)]
ViolationAction = Annotated[str, ClosedChoice("governance-action", "allow", "deny")]
Risk = Literal["low", "medium", "high", "critical"]


_T = TypeVar("_T")
_Some = Annotated[OneOrMany[_T], Field(min_length=1)]
"""An empty list would match nothing, or everything: it is refused instead."""


class ContractMatch(Model):
    """Contract properties a rule matches."""

    effects: Given[_Some[Tag]] = Field(default=None, description="Matches when any of these is an effect.")
    writes: Given[_Some[Tag]] = Field(default=None, description="Matches when any of these is written.")
    reads: Given[_Some[Tag]] = Field(default=None, description="Matches when any of these is read.")
    deterministic: Given[bool] = Field(default=None, description="Matches contracts with this value.")
    idempotent: Given[bool] = Field(default=None, description="Matches contracts with this value.")


class RuleModel(ContractMatch):
    """One rule: it matches when all its fields match, and the first matching rule of a source decides."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [name]} for name in _ACTS]})

    risk: Given[_Some[Risk]] = Field(default=None, description="Risk levels the rule is for.")
    contract: Given[ContractMatch] = Field(default=None, description="Contract properties the rule is for.")
    outcome: Given[_Some[Category]] = Field(
        default=None, description="Outcome categories the rule is for; matches steps that end the run."
    )
    action: Given[RuleAction] = Field(default=None, description="What happens to a matching step.")
    default: Given[RuleAction] = Field(default=None, description="What happens to every step no rule before matched.")
    contract_violations: Given[ViolationAction] = Field(
        default=None, description="`deny` makes any contract violation an error of the step."
    )
    min_approvers: Given[Annotated[int, Field(ge=1)]] = Field(
        default=None, description="How many distinct people must approve; default 1."
    )
    approvers: Given[Annotated[list[Text], Field(min_length=1)]] = Field(
        default=None, description="Whose approvals count: ids of people, and `group:NAME`; default: everybody's."
    )
    exclude_actor: Given[bool] = Field(
        default=None, description="Whether the run's own actor may not approve; default false."
    )
    serialize: Given[bool] = Field(
        default=None, description="Whether concurrent blocks with a matching step run one after another."
    )

    @model_validator(mode="after")
    def _acts(self) -> Self:
        if self.model_fields_set.isdisjoint(_ACTS):
            raise PydanticCustomError(
                "governance-action",
                "the rule has no `action` (allow, require-approval or deny)",
                {"hint": "add `action: require-approval` if a person decides"},
            )
        return self


def _signed(schema: dict[str, Any]) -> None:
    """Show both spellings of the field in the exported schema."""
    properties = schema["properties"]
    properties["require_verified_approval"] = {
        **properties["require_signed_approvals"],
        "description": "The same as `require_signed_approvals`.",
    }
    schema["not"] = {"required": ["require_signed_approvals", "require_verified_approval"]}


class GovernanceModel(Model):
    """The runbook's own governance; other sources can only make it stricter."""

    model_config = ConfigDict(json_schema_extra=_signed)

    rules: list[RuleModel] = Field(default_factory=no_items, description="The rules, first match decides.")
    approval_timeout: Given[Duration] = Field(
        default=None, description="How long an approval may take before it counts as rejected."
    )
    require_signed_approvals: bool = Field(
        default=False,
        validation_alias=AliasChoices("require_signed_approvals", "require_verified_approval"),
        description="Whether approvals without a verified signature are rejected.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, value: object) -> Any:
        if isinstance(value, dict) and {"require_signed_approvals", "require_verified_approval"} <= value.keys():
            raise PydanticCustomError(
                "duplicate_field", "has `require_signed_approvals` and its older name `require_verified_approval`"
            )
        return value


__all__ = ["ContractMatch", "GovernanceModel", "RuleModel"]
