"""Governance of a run's steps: the decision about each contract, with both of its events encoded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gert_core.contracts import risk
from gert_core.governance.people import is_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import Contract
    from gert_core.documents.tree import Path
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.governance import Decision, Policies


class Decisions:
    """The decisions of one run; steps with the same contract share theirs, only the step's id differs.

    An agent that starts a run never approves it, whatever the rules say.
    """

    __slots__ = ("_agent", "_encode", "_found", "_policies")

    def __init__(self, policies: Policies, encode: Callable[[Mapping[str, object]], bytes], *, actor: str) -> None:
        self._policies = policies
        self._agent = is_agent(actor)
        self._encode = encode
        self._found: dict[tuple[Path, str | None], tuple[Decision, bytes, bytes]] = {}

    def of(self, execution: StepExecution, category: str | None) -> tuple[Decision, bytes, bytes]:
        """Return the decision about a step, and the data of ``contract_evaluated`` and ``governance_decision``.

        ``category`` is the outcome's, for a step that ends the run.
        """
        compiled = execution.compiled
        if execution.rendered_levels or execution.gate is not None:
            found = self._of_rendered(execution, category)
        else:
            key = (compiled.contract_key, category)
            known = self._found.get(key)
            if known is None:
                decision = self._policies.decide_levels(compiled.levels, outcome=category)
                known = self._found[key] = self._encoded(compiled.contract, decision)
            found = known
        lead = compiled.lead
        return found[0], lead + found[1], lead + found[2]

    def _of_rendered(self, execution: StepExecution, category: str | None) -> tuple[Decision, bytes, bytes]:
        """Decide about the step as it is written and as it is rendered: no rule about one hides one about the other."""
        levels = (*execution.compiled.levels, *execution.rendered_levels)
        decision = self._policies.decide_levels(levels, outcome=category, gate=execution.gate)
        decision = replace(decision, risk=risk(execution.contract))
        return self._encoded(execution.contract, decision)

    def _encoded(self, contract: Contract, decision: Decision) -> tuple[Decision, bytes, bytes]:
        if self._agent and decision.needs_approval:
            decision = replace(decision, exclude_actor=True)
        resolved = self._encode({"resolved_contract": contract.to_json(), "writing": contract.writing})
        return decision, resolved[1:], self._encode(decision.to_json())[1:]


__all__ = ["Decisions"]
