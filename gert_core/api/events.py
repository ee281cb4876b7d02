"""A trace event as observers and readers see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
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
