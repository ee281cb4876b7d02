"""Explain the policy decisions about every step of a runbook without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import Contract, Flow, OutcomeCategory
from gert_core.governance.rules import Act
from gert_core.governance.sources import added_policies, included_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.contracts import Contracts
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.governance.decision import Decision
    from gert_core.governance.policies import Policies
    from gert_core.governance.rules import Rule


class Explained(Struct, frozen=True, kw_only=True):
    """One step with its contract and the decision about it; ``problem`` when the contract cannot be resolved.

    A step with blocks has the union of their contracts and no decision: it acts through its steps, which are governed.
    A step of an included runbook has the whole key of a step without items there, and ``file``.
    """

    step_id: str
    type: str
    line: int
    file: str | None = None
    contract: Contract | None = None
    outcome: str | None = None
    decision: Decision | None = None
    violations: tuple[str, int] | None = None
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``steps`` in ``gert policy explain --json``."""
        out: dict[str, object] = {"step_id": self.step_id, "type": self.type, "line": self.line}
        if self.file is not None:
            out["file"] = self.file
        if self.contract is None:
            return out | {"problem": self.problem}
        out["contract"] = self.contract.to_json()
        if self.decision is None:
            return out | {"decision": None}
        if self.outcome is not None:
            out["outcome"] = self.outcome
        return (
            out
            | self.decision.to_json()
            | {
                "serialize": self.decision.serialize,
                "contract_violations": "deny" if self.violations else "allow",
                "opinions": [opinion.to_json() for opinion in self.decision.matches],
            }
        )


class RuleMatch(Struct, frozen=True, kw_only=True):
    """A rule that matches a step, whether or not an earlier one of its source decides."""

    source: str
    rule: Rule
    decides: bool = False

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``rules`` of an opinion in ``gert explain --json``."""
        rule = self.rule
        return {
            "rule": rule.number,
            "action": None if rule.action is None else str(rule.action),
            "condition": rule.condition(),
            "serialize": rule.serialize,
            "contract_violations": None if rule.violations is None else str(rule.violations),
            "decides": self.decides,
        }


class Considered(Struct, frozen=True, kw_only=True):
    """A step with its explanation, and what that was found with."""

    explained: Explained
    node: StepNode
    runbook: Runbook
    contracts: Contracts
    policies: Policies
    """Those that decide about it: an included runbook may add some."""
    rules: tuple[RuleMatch, ...] = ()
    """Every rule of every source that matches, in the order of the sources."""


def explain(runbook: Runbook, policies: Policies, project: Project | None = None) -> Iterator[Explained]:
    """Yield every step in document order, those of included runbooks behind the step that includes them.

    ``project`` is the one of the policies; an included runbook of another one adds that one's.
    """
    return (found.explained for found in consider(runbook, policies, project))


def consider(
    runbook: Runbook, policies: Policies, project: Project | None, *, prefix: str = "", file: str | None = None
) -> Iterator[Considered]:
    """Yield every step as ``explain`` does, with its node and the rules that match it."""
    from gert_core.contracts import Contracts

    contracts = Contracts(runbook)
    for node in runbook.walk():
        line, _ = runbook.document.locate(node.path)
        key = f"{prefix}{_path_of(node)}" if prefix else node.id
        known = Explained(step_id=key, type=node.type.name, line=line, file=file)
        found = Considered(explained=known, node=node, runbook=runbook, contracts=contracts, policies=policies)
        governed = node.type.flow in (Flow.LEAF, Flow.TERMINAL)
        try:
            levels = contracts.levels(node) if governed else (contracts.whole(node),)
        except LookupError as error:
            yield replace(found, explained=replace(known, problem=str(error)))
            continue
        if governed:
            outcome, decision = _decide(node, levels, runbook=runbook, policies=policies)
            violations = policies.violation_rule(*levels)
            known = replace(known, contract=levels[-1], outcome=outcome, decision=decision, violations=violations)
            yield replace(found, explained=known, rules=tuple(_matching(policies, levels, outcome, decision)))
            continue
        yield replace(found, explained=replace(known, contract=levels[-1]))
        for number, block in enumerate(node.includes, len(node.blocks)):
            if block.included is not None:
                book, inside = block.included.runbook, f"{key}/{number}/"
                added = added_policies(policies, included_sources(block.included, project), None)
                yield from consider(book, added, project, prefix=inside, file=book.document.file)


def _path_of(node: StepNode) -> str:
    """Return the key of a step inside its own runbook.

    The number of a round is left out, as any may be meant, and that of cleanup, which its step type gives.
    """
    block, path = node.within, node.id
    while block is not None and block.owner is not None:
        owner = block.owner
        once = block.block is None or (block.block.runs[1] == 1 and not block.cleanup)
        path = f"{owner.id}/{owner.blocks.index(block)}/{path}" if once else f"{owner.id}/{path}"
        block = owner.within
    return f"@{block.name}/{path}" if block is not None and block.cleanup else path


def _matching(
    policies: Policies, levels: Sequence[Contract], outcome: str | None, decision: Decision
) -> Iterator[RuleMatch]:
    from gert_core.contracts import risk

    for source in policies.sources:
        for rule in source.rules:
            if any(rule.matches(level, risk=risk(level), outcome=outcome) for level in levels):
                decides = (source.name, rule.number) == (decision.source, decision.rule)
                yield RuleMatch(source=source.name, rule=rule, decides=decides)


def _decide(
    node: StepNode, levels: Sequence[Contract], *, runbook: Runbook, policies: Policies
) -> tuple[str | None, Decision]:
    """Return the decision; for a step that ends the run with an unknown outcome, the strictest possible one."""
    gate = runbook.functions.gate(node)
    if node.type.flow is not Flow.TERMINAL:
        return None, policies.decide_levels(levels, gate=gate)
    known = runbook.functions.outcome(node)
    category = None if known is None else str(known.category)
    every = [str(item) for item in OutcomeCategory]
    possible = [category] if category in every else every
    decided = [(outcome, policies.decide_levels(levels, outcome=outcome, gate=gate)) for outcome in possible]
    return max(decided, key=lambda pair: Act(pair[1].action).rank)


__all__ = ["Considered", "Explained", "RuleMatch", "consider", "explain"]
