"""Find approvals that opened the way for other documents than today's: they are asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError, StepStatus
from gert_core.approvals.binding import DOCUMENTS

if TYPE_CHECKING:
    from gert_core.documents.tree import Runbook
    from gert_core.engine.resume.recorded import Recorded


def stale_gates(recorded: Recorded, runbook: Runbook, documents: str, *, drift: bool) -> list[str]:
    """Return the keys of steps that demand an approval themselves and got it for other documents.

    ``documents`` is the digest of today's; a request of an earlier version has none, and is for those of the start.
    What comes behind such a step was approved with it. Raise ``RunError`` when a changed runbook has no approval there
    any more, so that it could not be asked for again.
    """
    found = []
    for key, step in recorded.state.steps.items():
        if step.status != StepStatus.SUCCESS or (approval := recorded.approval(key)) is None:
            continue
        request = approval.document or {}
        if request.get("message") is None:  # only such a step has one
            continue
        if request.get(DOCUMENTS) == documents or (DOCUMENTS not in request and not drift):
            continue
        place = runbook.find(key)
        if place is None or place[1].type.gate is None:
            raise RunError(
                f"step {key} was approved before the documents changed; they have another step in its place, or none",
                kind=ErrorKind.DRIFT,
                hint="an approval that was asked for cannot be taken out of a run; start a new run",
            )
        found.append(key)
    return found


__all__ = ["stale_gates"]
