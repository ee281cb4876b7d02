"""The types of trace events that the core writes, and the fixed parts of a line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.api.events import EventType

if TYPE_CHECKING:
    from gert_core.api.events import TraceEvent

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When every replay begins."""
ZEROS: Final = "0" * 64
"""``prev_hash`` of the first event."""

CORE_EVENTS: Final = frozenset(str(item) for item in EventType)
SEALED_EVENTS: Final = frozenset({str(EventType.RUN_COMPLETE), str(EventType.RUN_SUSPENDED)})
"""The events that end a process's part of a run and carry ``chain_hash`` and the signature."""
_SYNCED: Final = SEALED_EVENTS | {EventType.RUN_RESUMED, EventType.APPROVAL_SUBMITTED}
SEAL_FIELDS: Final = ("signature_alg", "signing_key_id", "chain_hash", "signature")
"""The last fields of a sealed event's data, in this order; unsigned ones have ``chain_hash`` alone."""


def timestamp(now: datetime) -> str:
    """Return a time as RFC 3339 text in UTC with microseconds."""
    if now.tzinfo is not UTC:
        now = now.astimezone(UTC)
    return now.isoformat(timespec="microseconds")[:26] + "Z"


def is_synced(event: TraceEvent) -> bool:
    """Return whether the run goes on behind this event only when it and all before it are on disk.

    That holds for the beginning and the end of a process's part, for a ticket, and for the start of a leaf that acts
    outside the run.
    """
    if event.type != EventType.STEP_START:
        return event.type in _SYNCED
    contract = event.data.get("contract_summary")
    acts = isinstance(contract, dict) and any(contract.get(name) for name in ("effects", "writes", "writing"))
    return acts and "idempotency_key" in event.data


__all__ = ["CORE_EVENTS", "EPOCH", "SEALED_EVENTS", "SEAL_FIELDS", "ZEROS", "is_synced", "timestamp"]
