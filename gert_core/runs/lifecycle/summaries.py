"""The summaries of a run: the latest of each type that its steps recorded, and views of decisions and approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.runs.state import RunState

ARTIFACT: Final = "artifact::"
CHECKPOINT: Final = "checkpoint::"
POLICY_DECISION: Final = "policy_decision"
POLICY_APPROVAL: Final = "policy::approval::"


class Summary(Struct, frozen=True, kw_only=True):
    """The latest summary of a type."""

    summary_type: str
    seq: int
    step_key: str | None
    payload: Any

    def to_json(self) -> dict[str, object]:
        """Return an entry of ``gert runs summaries --json``."""
        return {
            "type": self.summary_type,
            "seq": self.seq,
            "step_key": self.step_key,
            "payload": self.payload,
        }


def summaries_of(state: RunState) -> list[Summary]:
    """Return the latest summary of each type, in the order of their events.

    ``policy_decision`` is a view of the last decision of the policies, ``policy::approval::<step key>`` one of the last
    approval that a step needed.
    """
    return sorted(_all(state), key=lambda summary: (summary.seq, summary.summary_type))


def _all(state: RunState) -> Iterator[Summary]:
    for name, told in state.summaries.items():
        yield Summary(
            summary_type=name, seq=int(told["seq"]), step_key=told.get("step_key"), payload=told.get("payload")
        )
    if (decided := state.decision) is not None:
        data = decided["data"]
        rule, source = data.get("rule"), data.get("source")
        payload = {
            "step_id": data.get("step_id"),
            "outcome": data.get("decision"),
            "rule_id": None if source is None else f"{source}#{rule}" if rule is not None else str(source),
            "reason": data.get("reason"),
            "risk_level": data.get("risk_level"),
        }
        yield Summary(
            summary_type=POLICY_DECISION, seq=int(decided["seq"]), step_key=decided["step_key"], payload=payload
        )
    for key, approval in state.approvals.items():
        payload = {name: value for name, value in approval.items() if name != "seq"}
        yield Summary(summary_type=f"{POLICY_APPROVAL}{key}", seq=int(approval["seq"]), step_key=key, payload=payload)


__all__ = ["ARTIFACT", "CHECKPOINT", "POLICY_APPROVAL", "POLICY_DECISION", "Summary", "summaries_of"]
