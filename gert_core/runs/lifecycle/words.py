"""The word of a run's lifecycle for each of its statuses."""

from __future__ import annotations

from typing import Final

from gert_core.api.results import RunStatus

INTERRUPTED: Final = "interrupted"
"""The status of a run that has not ended and that no process executes."""
LIFECYCLE: Final[dict[str, str]] = {
    RunStatus.RUNNING: "active",
    RunStatus.QUEUED: "active",
    INTERRUPTED: "active",
    RunStatus.APPROVAL_PENDING: "paused",
    RunStatus.ANSWER_PENDING: "paused",
    RunStatus.BLOCKED: "paused",
    RunStatus.FAILED: "failed",
    RunStatus.ERROR: "failed",
    RunStatus.CANCELLED: "failed",
    RunStatus.COMPLETED: "completed",
}


def lifecycle(status: str) -> str | None:
    """Return ``active``, ``paused``, ``failed`` or ``completed``; ``None`` for a run that cannot be read."""
    return LIFECYCLE.get(status)


__all__ = ["INTERRUPTED", "LIFECYCLE", "lifecycle"]
