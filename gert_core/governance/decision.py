"""Decisions about steps: what one policy source says of a contract, what all say together, the stricter of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind, RunError
from gert_core.governance.people import NO_ONE, is_agent
from gert_core.governance.rules import Act

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_ACTIONS: Final = frozenset(map(str, Act))


class Opinion(Struct, frozen=True, kw_only=True):
    """The decision of one source about a contract; ``rule`` and ``action`` are None when no rule matches."""

    source: str
    rule: int | None = None
    action: str | None = None
    min_approvers: int = 1
    exclude_actor: bool = False
    approvers: tuple[str, ...] = ()
    serialize: bool = False
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``opinions`` in ``gert policy explain --json``."""
        return {
            "source": self.source,
            "rule": self.rule,
            "action": self.action,
            "min_approvers": self.min_approvers,
            "exclude_actor": self.exclude_actor,
            "approvers": list(self.approvers),
            "serialize": self.serialize,
            "reason": self.reason,
        }


class Decision(Struct, frozen=True, kw_only=True):
    """The decision about a step: the strictest opinion, the highest number of approvers, and the source."""

    action: str
    risk: str
    source: str | None
    rule: int | None
    reason: str
    min_approvers: int = 1
    exclude_actor: bool = False
    approvers: tuple[str, ...] = ()
    """The people and groups whose approval counts; empty: everybody's."""
    serialize: bool = False
    matches: tuple[Opinion, ...] = ()
    policy_digest: str = ""

    @property
    def denied(self) -> bool:
        """Whether the step must not run."""
        return self.action == Act.DENY

    @property
    def needs_approval(self) -> bool:
        """Whether the step needs an approval first."""
        return self.action == Act.REQUIRE_APPROVAL

    @property
    def by_policy(self) -> bool:
        """Whether a rule of a policy requires the approval, and not only the step itself."""
        return any(opinion.action == Act.REQUIRE_APPROVAL and opinion.rule is not None for opinion in self.matches)

    @property
    def terms(self) -> tuple[object, ...]:
        """What the step is put under, without the words for it: the action, and what it asks of approvers."""
        if not self.needs_approval:
            return (str(self.action),)
        return str(self.action), self.min_approvers, self.exclude_actor, tuple(sorted(self.approvers))

    @property
    def approval_rules(self) -> str:
        """Every rule that requires an approval, of whichever source: a sentence per line."""
        asking = (opinion.reason for opinion in self.matches if opinion.action == Act.REQUIRE_APPROVAL)
        return "\n".join(dict.fromkeys(asking))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Decision:
        """Return the decision that a ``governance_decision`` event records; its opinions are those that asked.

        Raise ``RunError`` for one that no policy makes: a sound chain does not say that gert wrote it.
        """
        action, approvers = str(data.get("decision")), int(data.get("min_approvers") or 1)
        if action not in _ACTIONS:
            raise RunError(
                f"the trace says of step {data.get('step_id')}: {action!r}, which no policy decides",
                kind=ErrorKind.TRACE_ALTERED,
                hint="somebody has altered the trace: start a new run",
            )
        source, rule, reason = data.get("source"), data.get("rule"), str(data.get("reason") or "")
        excluded = bool(data.get("exclude_actor"))
        matches = tuple(
            Opinion(
                source=str(source or ""),
                rule=rule,
                action=action,
                min_approvers=approvers,
                exclude_actor=excluded,
                reason=sentence,
            )
            for sentence in data.get("rules") or (reason,)
        )
        return cls(
            action=action,
            risk=str(data.get("risk_level")),
            source=source,
            rule=rule,
            reason=reason,
            min_approvers=approvers,
            exclude_actor=excluded,
            approvers=tuple(map(str, data.get("approvers") or ())),
            matches=matches,
            policy_digest=str(data.get("policy_digest") or ""),
        )

    def to_json(self) -> dict[str, object]:
        """Return the data of a ``governance_decision`` event, without the step's id."""
        out: dict[str, object] = {
            "risk_level": self.risk,
            "decision": self.action,
            "source": self.source,
            "rule": self.rule,
            "reason": self.reason,
            "policy_digest": self.policy_digest,
        }
        if self.needs_approval:
            out["min_approvers"] = self.min_approvers
            if self.exclude_actor:
                out["exclude_actor"] = True
            if self.approvers:
                out["approvers"] = list(self.approvers)
            if (rules := self.approval_rules) != self.reason:
                out["rules"] = rules.split("\n")
        return out


def common(sets: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Return whom all sets have in common: nothing without names, and no person without anything in common.

    An empty set is a rule that names none: any person counts for it, but not an agent that another rule names.
    """
    named = [names for names in sets if names]
    if not named:
        return ()
    found = frozenset.intersection(*named)
    if len(named) < len(sets):
        found = frozenset(name for name in found if not is_agent(name))
    return tuple(sorted(found)) or (NO_ONE,)


def strictest(one: Decision, other: Decision, *, risk: str) -> Decision:
    """Return the stricter of two decisions about a step, with what the other one asks of approvers."""
    rank = Act(other.action).rank - Act(one.action).rank
    chosen = other if rank > 0 or (rank == 0 and other.min_approvers > one.min_approvers) else one
    matches = dict.fromkeys((*chosen.matches, *one.matches, *other.matches))
    asking = [decision for decision in (one, other) if decision.needs_approval] if chosen.needs_approval else []
    return replace(
        chosen,
        risk=risk,
        min_approvers=max((decision.min_approvers for decision in asking), default=1),
        exclude_actor=any(decision.exclude_actor for decision in asking),
        approvers=common([frozenset(d.approvers) for d in asking]),
        serialize=one.serialize or other.serialize,
        matches=tuple(matches),
    )


__all__ = ["Decision", "Opinion", "common", "strictest"]
