"""What a trace records about one step: the result of a finished leaf, and the last ticket of its approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Outcome


class RecordedResult(Struct, frozen=True, kw_only=True):
    """A finished leaf step, with its secrets put back."""

    status: str
    outputs: Mapping[str, object]
    fields: Mapping[str, object]
    failure: Mapping[str, str] | None = None
    reason: str | None = None
    outcome: Outcome | None = None
    stated: bool = False
    """Whether a person stated that the step, which was interrupted, is done."""


class RecordedApproval(Struct, kw_only=True):
    """What the trace records about the last ticket of a step."""

    ticket_id: str
    created: str
    expires_at: str
    request_hash: str = ""
    document: Mapping[str, Any] | None = None
    """What was requested; None in a trace of 0.1, whose requests covered less."""
    generation: int = 1
    voids: int = 0
    """How often a request of this step changed before the step was executed."""
    spent: bool = False
    """Whether its approval served an execution already, so that another one must be approved anew."""
    responses: list[Mapping[str, object]] = field(default_factory=list)
    resolved: Mapping[str, object] | None = None
    """How it was resolved, approved or not."""


__all__ = ["RecordedApproval", "RecordedResult"]
