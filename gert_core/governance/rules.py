"""One rule of a policy: its conditions and its action."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.governance.people import GROUP, id_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Contract


class Act(StrEnum):
    """The action of a rule, from the mildest to the strictest."""

    ALLOW = "allow"
    REQUIRE_APPROVAL = "require-approval"
    DENY = "deny"

    @property
    def rank(self) -> int:
        """How restrictive it is; the highest rank of all sources applies."""
        return _RANKS[self]


_RANKS: Final = {Act.ALLOW: 0, Act.REQUIRE_APPROVAL: 1, Act.DENY: 2}
_LISTS: Final = ("effects", "writes", "reads")
_FLAGS: Final = ("deterministic", "idempotent")


class Rule(Struct, frozen=True, kw_only=True):
    """A rule, compiled: every field given must match, a list matches when any of its items does.

    ``action`` None: the rule decides nothing by itself (it serialises, or is about contract violations).
    ``violations`` is its action for a contract violation; such a rule never decides before execution.
    """

    number: int
    action: Act | None = None
    risk: frozenset[str] | None = None
    tags: tuple[tuple[str, frozenset[str]], ...] = ()
    flags: Mapping[str, bool] = field(default_factory=dict)
    outcome: frozenset[str] | None = None
    violations: Act | None = None
    min_approvers: int = 1
    exclude_actor: bool = False
    approvers: tuple[str, ...] = ()
    serialize: bool = False

    @classmethod
    def parse(cls, number: int, raw: Mapping[str, Any]) -> Rule:
        """Compile rule ``number`` (from 1) of a document; raise ``ValueError`` with a message."""
        inner = raw.get("contract") or {}
        tags: list[tuple[str, frozenset[str]]] = []
        flags: dict[str, bool] = {}
        for place in (raw, inner):
            for name in _LISTS:
                if (value := place.get(name)) is not None:
                    tags.append((name, _words(value)))
            for name in _FLAGS:
                if (value := place.get(name)) is not None:
                    if flags.get(name, value) != value:
                        raise ValueError(f"rule {number} requires {name} to be both true and false")
                    flags[name] = bool(value)
        default = raw.get("default")
        action = raw.get("action")
        if isinstance(default, str):
            if action is not None and action != default:
                raise ValueError(f"rule {number} has the actions {default!r} and {action!r}; keep one")
            action = default
        violations = raw.get("contract_violations")
        rule = cls(
            number=number,
            action=None if violations is not None else _action(number, action),
            risk=_maybe(raw.get("risk")),
            tags=tuple(tags),
            flags=flags,
            outcome=_maybe(raw.get("outcome")),
            violations=_action(number, violations),
            min_approvers=int(raw.get("min_approvers") or 1),
            exclude_actor=bool(raw.get("exclude_actor")),
            approvers=tuple(map(str, raw.get("approvers") or ())),
            serialize=bool(raw.get("serialize")),
        )
        if rule.action is None and rule.violations is None and not rule.serialize:
            raise ValueError(f"rule {number} has no action; write `action: allow`, `require-approval` or `deny`")
        for name in rule.approvers:
            if not name.startswith(GROUP) and (fault := id_fault(name)) is not None:
                raise ValueError(f"rule {number}: {name!a} cannot be an approver's id: it {fault}")
        if rule.min_approvers < 1:
            raise ValueError(f"rule {number}: min_approvers must be at least 1")
        return rule

    def matches(self, contract: Contract, *, risk: str, outcome: str | None = None) -> bool:
        """Return whether every field of the rule matches; ``outcome`` is set for a step that ends the run."""
        if self.risk is not None and risk not in self.risk:
            return False
        if self.outcome is not None and (outcome is None or outcome not in self.outcome):
            return False
        for name, wanted in self.tags:
            held = effective_effects(contract) if name == "effects" else getattr(contract, name)
            if wanted.isdisjoint(held):
                return False
        return all(getattr(contract, name) is value for name, value in self.flags.items())

    def requirement(self) -> str:
        """Return the rule's action as text: ``require-approval by 2 approvers other than the run's actor``."""
        text = str(self.violations if self.action is None else self.action)
        if self.action is Act.REQUIRE_APPROVAL:
            if self.min_approvers > 1:
                text += f" by {self.min_approvers} approvers"
            elif self.exclude_actor:
                text += " by an approver"
            if self.exclude_actor:
                text += " other than the run's actor"
            if self.approvers:
                text += f" among {', '.join(self.approvers)}"
        return text

    def condition(self) -> str:
        """Return the rule's conditions as text: ``risk critical and writes production``."""
        parts = []
        if self.risk is not None:
            parts.append("risk " + " or ".join(sorted(self.risk)))
        parts += [f"{name} {' or '.join(sorted(wanted))}" for name, wanted in self.tags]
        parts += [f"{name} {str(value).lower()}" for name, value in self.flags.items()]
        if self.outcome is not None:
            parts.append("outcome " + " or ".join(sorted(self.outcome)))
        return " and ".join(parts) or "every step"


def effective_effects(contract: Contract) -> tuple[str, ...]:
    """Return the effects for matching: a contract that writes and names no effect has the effect ``unknown``."""
    if contract.effects or not contract.writing:
        return contract.effects
    return ("unknown",)


def _words(value: Any) -> frozenset[str]:
    return frozenset([str(value)] if isinstance(value, str) else [str(item) for item in value])


def _maybe(value: object) -> frozenset[str] | None:
    return None if value is None else _words(value)


def _action(number: int, value: Any) -> Act | None:
    if value is None:
        return None
    try:
        return Act(value)
    except ValueError:
        known = ", ".join(Act)
        raise ValueError(f"rule {number} has the unknown action {value!r}; it must be one of {known}") from None


__all__ = ["Act", "Rule", "effective_effects"]
