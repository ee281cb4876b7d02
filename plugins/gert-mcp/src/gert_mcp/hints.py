"""What a tool that runs a runbook says about itself, derived from the contracts of the steps it can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.api import Contract

HERE: Final = frozenset({"filesystem", "process"})
"""Effects that stay on the machine; every other one touches an open world."""
RISKS: Final = ("low", "medium", "high", "critical")


class Hints(Struct, frozen=True, kw_only=True):
    """The four hints of MCP."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


def hints_of(contracts: Iterable[Contract | None]) -> Hints:
    """Return the hints about all leaves; None is a contract that is not known, which counts as the worst."""
    leaves = list(contracts)
    writing = [contract for contract in leaves if contract is None or contract.writing]
    once = any(contract is None or not contract.idempotent for contract in writing)
    return Hints(
        read_only=not writing,
        destructive=once,
        idempotent=not once,
        open_world=any(undeclared(contract) or not effects_of(contract) <= HERE for contract in leaves),
    )


def effects_of(contract: Contract | None) -> set[str]:
    """Return the systems that a step says it touches."""
    return set() if contract is None else set(contract.effects)


def undeclared(contract: Contract | None) -> bool:
    """Return whether nothing is known about what a step touches."""
    return contract is None or (contract.writing and not contract.writes and not contract.effects)


def facts_of(steps: Sequence[Any]) -> dict[str, object]:
    """Return what ``_meta.gert`` says about the explained steps of a runbook: risk, effects, writes, approvals."""
    leaves = [step for step in steps if step.decision is not None or step.contract is None]
    known = [step.contract for step in leaves if step.contract is not None]
    levels = [RISKS.index(step.risk) if step.risk in RISKS else len(RISKS) - 1 for step in leaves]
    return {
        "risk": RISKS[max(levels, default=0)],
        "effects": sorted({effect for contract in known for effect in contract.effects}),
        "writes": sorted({name for contract in known for name in contract.writes}),
        "approvals": [
            {
                "step_id": step.step_id,
                "risk": step.risk,
                "min_approvers": step.decision.min_approvers,
                "approvers": list(step.decision.approvers),
            }
            for step in leaves
            if step.decision is not None and step.decision.needs_approval
        ],
        "undeclared": any(undeclared(step.contract) for step in leaves),
        "outcomes": sorted({step.outcome for step in leaves if step.outcome is not None}),
    }


def leaves_of(steps: Sequence[Any]) -> list[Contract | None]:
    """Return the contracts of the leaves among explained steps; a step with blocks acts through its steps."""
    return [step.contract for step in steps if step.decision is not None or step.contract is None]


__all__ = ["HERE", "RISKS", "Hints", "facts_of", "hints_of", "leaves_of", "undeclared"]
