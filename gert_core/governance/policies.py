"""The policies of a run: the most restrictive of all sources decides about each contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.governance.decision import Decision, Opinion, common, strictest
from gert_core.governance.gates import with_gate
from gert_core.governance.people import NO_ONE, NO_PEOPLE, People
from gert_core.governance.rules import Act

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Contract, Gate
    from gert_core.governance.rules import Rule
    from gert_core.governance.sources import Source

KEYS_BY_ENVIRONMENT: Final = (
    "approvals must be signed, and no policy declares people with keys: the person who resumes the run chooses the keys"
)
DEFAULT_APPROVAL_TIMEOUT: Final = 1800.0
"""Seconds an approval may take when no source sets a timeout."""


class Policies(Struct, kw_only=True, eq=False):
    """Every source of a run in order of precedence: packs, project, ``--policy``, runbook."""

    sources: tuple[Source, ...]
    digest: str
    approval_timeout: float = DEFAULT_APPROVAL_TIMEOUT
    timeout_set: bool = False
    """Whether a source sets the timeout of approvals."""
    require_signed: bool = False
    people: People = NO_PEOPLE
    plugins: tuple[str, ...] = ()
    """The plugins that were asked for policies, whatever they answered."""
    complete: bool = False
    """Whether these are all sources of a run, so that nothing they name can be declared elsewhere."""
    scheduling: tuple[Source, ...] | None = None
    """The sources that decide which branches run one after another, when these are not today's."""
    _decided: dict[tuple[object, ...], Decision] = field(default_factory=dict)

    def decide(self, contract: Contract, *, outcome: str | None = None) -> Decision:
        """Return the decision about a contract; ``outcome`` is the category of a step that ends the run.

        Equal contracts share one decision, so a step that runs again costs one look-up.
        """
        key = (
            contract.effects,
            contract.writes,
            contract.reads,
            contract.deterministic,
            contract.idempotent,
            contract.writing,
            outcome,
        )
        decision = self._decided.get(key)
        if decision is None:
            decision = self._decided[key] = self._decide(contract, outcome)
        return decision

    def decide_levels(
        self, levels: Sequence[Contract], *, outcome: str | None = None, gate: Gate | None = None
    ) -> Decision:
        """Return the strictest decision about the levels of a step's contract, the last of which is the step's.

        ``gate`` is the approval that the step demands by itself, on top of it.
        """
        decision = self.decide(levels[-1], outcome=outcome)
        for level in levels[:-1]:
            decision = strictest(decision, self.decide(level, outcome=outcome), risk=decision.risk)
        return decision if gate is None else with_gate(decision, gate, self.people)

    def expires_after(self, gate: Gate | None) -> float:
        """Return the seconds until a request expires: the shortest of what policies and the step set."""
        if gate is None or gate.timeout is None:
            return self.approval_timeout
        return min(gate.timeout, self.approval_timeout) if self.timeout_set else gate.timeout

    def to_json(self) -> list[dict[str, object]]:
        """Return the ``policies`` of ``run_start``: every source with its digest, and what plugins answered as data."""
        return [
            {
                "name": source.name,
                "kind": source.kind,
                "digest": source.digest,
                **({"answer": dict(source.document)} if source.answer else {}),
            }
            for source in self.sources
        ]

    def schedule_as(self, answers: Sequence[Source]) -> None:
        """Serialise branches as when the run started: the order of its branches is recorded."""
        self.scheduling = (*answers, *(source for source in self.sources if not source.answer))

    @property
    def keys_by_environment(self) -> bool:
        """Whether approvals must be signed and no policy says by whom: who resumes the run chooses the keys."""
        return self.require_signed and not self.people.have_keys and not self.people.personal_keys

    @property
    def deny(self) -> bool:
        """Whether any rule denies steps."""
        return any(rule.action is Act.DENY for source in self.sources for rule in source.rules)

    def serializes(self, *levels: Contract) -> bool:
        """Return whether parallel branches with such a step must run one after another."""
        if self.scheduling is None:
            return any(self.decide(level).serialize for level in levels)
        return any(
            _opinion(source, level, risk=_risk(level), outcome=None).serialize
            for level in levels
            for source in self.scheduling
        )

    def denies_violations(self, contract: Contract) -> bool:
        """Return whether a contract violation of such a step is an error instead of a warning."""
        return self.violation_rule(contract) is not None

    def violation_rule(self, *levels: Contract) -> tuple[str, int] | None:
        """Return the source and rule number that turn a violation of such a step into an error."""
        return next((rule for level in levels if (rule := self._violation_rule(level)) is not None), None)

    def _violation_rule(self, contract: Contract) -> tuple[str, int] | None:
        risk = _risk(contract)
        for source in self.sources:
            for rule in source.rules:
                if rule.violations is not None and rule.matches(contract, risk=risk):
                    if rule.violations is Act.ALLOW:
                        break
                    return source.name, rule.number
        return None

    def _approvers(self, rules: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """Return the ids of whose approval counts: of everybody that all rules name, groups written out."""
        return common([self._named(names) for names in rules])

    def _named(self, names: tuple[str, ...]) -> frozenset[str]:
        """Return the ids that a rule names, groups written out; an empty group is not the same as no names."""
        return self.people.expand(names) or frozenset((NO_ONE,)) if names else frozenset()

    def _decide(self, contract: Contract, outcome: str | None) -> Decision:
        risk = _risk(contract)
        opinions = tuple(_opinion(s, contract, risk=risk, outcome=outcome) for s in self.sources)
        serialize = any(opinion.serialize for opinion in opinions)
        decided = [opinion for opinion in opinions if opinion.action is not None]
        if not decided:
            return Decision(
                action=Act.ALLOW,
                risk=risk,
                source=None,
                rule=None,
                reason="No rule of any policy matches, so the step is allowed.",
                serialize=serialize,
                matches=opinions,
                policy_digest=self.digest,
            )
        chosen = max(decided, key=_strictness)
        asking = [opinion for opinion in decided if opinion.action == Act.REQUIRE_APPROVAL]
        approval = chosen.action == Act.REQUIRE_APPROVAL
        return Decision(
            action=str(chosen.action),
            risk=risk,
            source=chosen.source,
            rule=chosen.rule,
            reason=chosen.reason,
            min_approvers=max((o.min_approvers for o in asking), default=1) if approval else 1,
            exclude_actor=approval and any(o.exclude_actor for o in asking),
            approvers=self._approvers([o.approvers for o in asking]) if approval else (),
            serialize=serialize,
            matches=opinions,
            policy_digest=self.digest,
        )


def _strictness(opinion: Opinion) -> tuple[int, int, bool]:
    rank = Act(opinion.action).rank if opinion.action is not None else -1
    return rank, opinion.min_approvers, opinion.exclude_actor


def _opinion(source: Source, contract: Contract, *, risk: str, outcome: str | None) -> Opinion:
    """Return the action of the first matching rule that has one; rules before it may add ``serialize``."""
    serialize = False
    for rule in source.rules:
        if rule.violations is not None or not rule.matches(contract, risk=risk, outcome=outcome):
            continue
        serialize = serialize or rule.serialize
        if rule.action is not None:
            return Opinion(
                source=source.name,
                rule=rule.number,
                action=rule.action,
                min_approvers=rule.min_approvers,
                exclude_actor=rule.exclude_actor,
                approvers=rule.approvers,
                serialize=serialize,
                reason=_reason(source, rule),
            )
    return Opinion(source=source.name, serialize=serialize, reason=f"{source.title} has no matching rule.")


def _reason(source: Source, rule: Rule) -> str:
    return f"Rule {rule.number} of {source.title} applies: {rule.requirement()} for {rule.condition()}."


def _risk(contract: Contract) -> str:
    from gert_core.contracts import risk

    return str(risk(contract))


def policies_of(
    sources: Sequence[Source], *, digest: str, plugins: tuple[str, ...] = (), people: People = NO_PEOPLE
) -> Policies:
    """Combine sources: the shortest timeout applies, and one source that requires signatures is enough."""
    timeouts = [source.approval_timeout for source in sources if source.approval_timeout is not None]
    return Policies(
        sources=tuple(sources),
        digest=digest,
        approval_timeout=min(timeouts, default=DEFAULT_APPROVAL_TIMEOUT),
        timeout_set=bool(timeouts),
        require_signed=any(source.require_signed for source in sources),
        people=people,
        plugins=plugins,
    )


__all__ = ["DEFAULT_APPROVAL_TIMEOUT", "KEYS_BY_ENVIRONMENT", "Policies", "policies_of"]
