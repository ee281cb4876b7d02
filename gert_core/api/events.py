"""Trace events for observers and readers, and the types of those that the core writes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping


class EventType(StrEnum):
    """Events written by the core; step types add their own (``branch_enter``) and may not use these names."""

    RUN_START = "run_start"
    RUN_COMPLETE = "run_complete"
    RUN_SUSPENDED = "run_suspended"
    RUN_RESUMED = "run_resumed"
    RUN_SUMMARY = "run_summary"
    INPUT_RESOLVED = "input_resolved"
    CONTRACT_EVALUATED = "contract_evaluated"
    CONTRACT_VIOLATION = "contract_violation"
    GOVERNANCE_DECISION = "governance_decision"
    APPROVAL_SUBMITTED = "approval_submitted"
    APPROVAL_RESPONSE = "approval_response"
    APPROVAL_RESOLVED = "approval_resolved"
    APPROVAL_VOID = "approval_void"
    STEP_START = "step_start"
    STEP_ATTEMPT = "step_attempt"
    STEP_COMPLETE = "step_complete"
    OUTCOME_RESOLVED = "outcome_resolved"
    REDACTION_APPLIED = "redaction_applied"
    VISIBILITY_APPLIED = "visibility_applied"
    SCOPE_EXPORT = "scope_export"
    FOR_EACH_START = "for_each_start"
    FOR_EACH_ITEM = "for_each_item"
    TIME_READ = "time_read"
    SLEEP_START = "sleep_start"
    TOOL_CALL = "tool_call"
    QUESTION_ASKED = "question_asked"
    QUESTION_ANSWERED = "question_answered"
    PAUSE_REQUESTED = "pause_requested"


class TraceEvent(Struct, frozen=True, kw_only=True):
    """One line of a trace, decoded; everything in it is masked already."""

    type: str
    timestamp: str
    run_id: str
    seq: int
    prev_hash: str
    data: Mapping[str, Any] = field(default_factory=dict)
    step_key: str | None = None
    principal: Mapping[str, object] | None = None


__all__ = ["EventType", "TraceEvent"]
