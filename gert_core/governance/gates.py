"""Gates: the approval that a step demands by itself, added to what the policies decide about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.governance.decision import Decision, Opinion, strictest
from gert_core.governance.people import NO_ONE, is_agent
from gert_core.governance.rules import Act, Rule

if TYPE_CHECKING:
    from gert_core.api import Gate
    from gert_core.governance.people import People

STEP: Final = "step"
"""The source of a decision that the step itself demands; such a decision has no rule."""


def with_gate(decision: Decision, gate: Gate, people: People) -> Decision:
    """Return the decision of the policies together with the approval that the step demands.

    Where a policy requires an approval too, its rule stays the reason, so that an event without a rule means that no
    policy demanded one.
    """
    approvers = people.expand(gate.approvers)
    if decision.needs_approval and not decision.approvers:
        # A policy that names no approvers wants people, which a step cannot turn into an agent.
        approvers = frozenset(name for name in approvers if not is_agent(name)) or (
            frozenset([NO_ONE]) if approvers else approvers
        )
    elif gate.approvers and not approvers:
        approvers = frozenset([NO_ONE])
    asked = Rule(
        number=0, action=Act.REQUIRE_APPROVAL, min_approvers=gate.min_approvers, approvers=tuple(gate.approvers)
    )
    reason = f"The step demands it: {asked.requirement()}."
    opinion = Opinion(
        source=STEP,
        action=Act.REQUIRE_APPROVAL,
        min_approvers=gate.min_approvers,
        approvers=tuple(gate.approvers),
        reason=reason,
    )
    own = Decision(
        action=str(Act.REQUIRE_APPROVAL),
        risk=decision.risk,
        source=STEP,
        rule=None,
        reason=reason,
        min_approvers=gate.min_approvers,
        approvers=tuple(sorted(approvers)),
        matches=(opinion,),
        policy_digest=decision.policy_digest,
    )
    both = strictest(decision, own, risk=decision.risk)
    if decision.needs_approval:
        both = replace(both, source=decision.source, rule=decision.rule, reason=decision.reason)
    return replace(both, matches=(*decision.matches, opinion))


__all__ = ["STEP", "with_gate"]
