"""The types of trace events that the core writes, and the fixed parts of a line."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

from gert_core.api.events import EventType

if TYPE_CHECKING:
    from datetime import datetime

ZEROS: Final = "0" * 64
"""``prev_hash`` of the first event."""

CORE_EVENTS: Final = frozenset(str(item) for item in EventType)
SEALED_EVENTS: Final = frozenset({str(EventType.RUN_COMPLETE), str(EventType.RUN_SUSPENDED)})
"""The events that end a process's part of a run and carry ``chain_hash`` and the signature."""
SEAL_FIELDS: Final = ("signature_alg", "signing_key_id", "chain_hash", "signature")
"""The last fields of a sealed event's data, in this order; unsigned ones have ``chain_hash`` alone."""


def timestamp(now: datetime) -> str:
    """Return a time as RFC 3339 text in UTC with microseconds."""
    if now.tzinfo is not UTC:
        now = now.astimezone(UTC)
    return now.isoformat(timespec="microseconds")[:26] + "Z"


__all__ = ["CORE_EVENTS", "SEALED_EVENTS", "SEAL_FIELDS", "ZEROS", "timestamp"]
