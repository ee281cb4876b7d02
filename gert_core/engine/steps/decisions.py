"""Governance of a run's steps: the decision about each contract, with both of its events encoded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.documents.tree import Path
    from gert_core.engine.steps.compiled import CompiledStep
    from gert_core.governance import Decision, Policies


class Decisions:
    """The decisions of one run; steps with the same contract share theirs, only the step's id differs."""

    __slots__ = ("_encode", "_found", "_policies")

    def __init__(self, policies: Policies, encode: Callable[[Mapping[str, object]], bytes]) -> None:
        self._policies = policies
        self._encode = encode
        self._found: dict[tuple[Path, str | None], tuple[Decision, bytes, bytes]] = {}

    def of(self, compiled: CompiledStep, category: str | None) -> tuple[Decision, bytes, bytes]:
        """Return the decision about a step, and the data of ``contract_evaluated`` and ``governance_decision``.

        ``category`` is the outcome's, for a step that ends the run.
        """
        key = (compiled.contract_key, category)
        found = self._found.get(key)
        if found is None:
            encode, contract = self._encode, compiled.contract
            decision = self._policies.decide(contract, outcome=category)
            resolved = encode({"resolved_contract": contract.to_json(), "writing": contract.writing})
            found = self._found[key] = decision, resolved[1:], encode(decision.to_json())[1:]
        lead = compiled.lead
        return found[0], lead + found[1], lead + found[2]


__all__ = ["Decisions"]
