"""The vocabulary of trace events that the core writes, and the fixed parts of a line."""

from __future__ import annotations

from datetime import UTC
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

ZEROS: Final = "0" * 64
"""``prev_hash`` of the first event."""


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


CORE_EVENTS: Final = frozenset(str(item) for item in EventType)
SEALED_EVENTS: Final = frozenset({str(EventType.RUN_COMPLETE), str(EventType.RUN_SUSPENDED)})
"""The events that end a process's part of a run and carry ``chain_hash`` and the signature."""
SEAL_FIELDS: Final = ("signature_alg", "signing_key_id", "chain_hash", "signature")
"""The last fields of a sealed event's data, in this order; unsigned ones have ``chain_hash`` alone."""


def timestamp(now: datetime) -> str:
    """RFC 3339 in UTC with microseconds."""
    if now.tzinfo is not UTC:
        now = now.astimezone(UTC)
    return now.isoformat(timespec="microseconds")[:26] + "Z"


__all__ = ["CORE_EVENTS", "SEALED_EVENTS", "SEAL_FIELDS", "ZEROS", "EventType", "timestamp"]
