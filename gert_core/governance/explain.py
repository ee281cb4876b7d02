"""Explain the policy decisions about every step of a runbook without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import Contract, Flow, OutcomeCategory
from gert_core.governance.rules import Act

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.governance.decision import Decision
    from gert_core.governance.policies import Policies


class Explained(Struct, frozen=True, kw_only=True):
    """One step with its contract and the decision about it; ``problem`` when the contract cannot be resolved.

    A step with blocks has the union of their contracts and no decision: it acts through its steps, which are governed.
    """

    step_id: str
    type: str
    line: int
    contract: Contract | None = None
    outcome: str | None = None
    decision: Decision | None = None
    violations: tuple[str, int] | None = None
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``steps`` in ``gert policy explain --json``."""
        out: dict[str, object] = {"step_id": self.step_id, "type": self.type, "line": self.line}
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


def explain(runbook: Runbook, policies: Policies) -> Iterator[Explained]:
    """Yield every step in document order."""
    from gert_core.contracts import Contracts

    contracts = Contracts(runbook)
    for node in runbook.walk():
        line, _ = runbook.document.locate(node.path)
        governed = node.type.flow in (Flow.LEAF, Flow.TERMINAL)
        try:
            levels = contracts.levels(node) if governed else (contracts.whole(node),)
        except LookupError as error:
            yield Explained(step_id=node.id, type=node.type.name, line=line, problem=str(error))
            continue
        if not governed:
            yield Explained(step_id=node.id, type=node.type.name, line=line, contract=levels[-1])
            continue
        outcome, decision = _decide(node, levels, runbook=runbook, policies=policies)
        yield Explained(
            step_id=node.id,
            type=node.type.name,
            line=line,
            contract=levels[-1],
            outcome=outcome,
            decision=decision,
            violations=policies.violation_rule(*levels),
        )


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


__all__ = ["Explained", "explain"]
