"""A trace event as observers and readers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api.record import field, record

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class TraceEvent:
    """One line of a trace, decoded; everything in it is masked already."""

    type: str
    timestamp: str
    run_id: str
    seq: int
    prev_hash: str
    data: Mapping[str, Any] = field(default_factory=dict)
    step_key: str | None = None
    principal: Mapping[str, Any] | None = None


__all__ = ["TraceEvent"]
