"""Find what was approved or decided for other documents than those of today, and is still to be held to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError, StepStatus
from gert_core.approvals.binding import DOCUMENTS, MESSAGE
from gert_core.governance.rules import Act

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.documents.tree import Runbook
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.runs.state import StepState


def stale_gates(recorded: Recorded, documents: str, *, asked: Mapping[str, StepState], drift: bool) -> list[str]:
    """Return the keys of those among ``asked`` that demand an approval themselves and got it for other documents.

    ``documents`` is the digest of today's; a request of an earlier version has none, and is for those of the start.
    What comes behind such a step was approved with it.
    """
    found = []
    for key, step in asked.items():
        if step.status != StepStatus.SUCCESS or (approval := recorded.approval(key)) is None:
            continue
        request = approval.document or {}
        if request.get(MESSAGE) is None:
            continue
        if request.get(DOCUMENTS) == documents or (DOCUMENTS not in request and not drift):
            continue
        found.append(key)
    return found


def refuse_replaced(runbook: Runbook, keys: Iterable[str]) -> None:
    """Raise ``RunError`` where a changed runbook has no approval any more, so that it could not be asked for again."""
    for key in keys:
        place = runbook.find(key)
        if place is None or place[1].type.gate is None:
            raise _refusal(f"step {key} was approved")


def refuse_vanished(recorded: Recorded, runbook: Runbook, keys: Iterable[str]) -> None:
    """Raise ``RunError`` for steps to be executed again that policies did not just allow, and that are gone."""
    for key in keys:
        decision = recorded.earlier_decision(key)
        if decision is not None and decision.action != Act.ALLOW and runbook.find(key) is None:
            raise _refusal(f"step {key} {'was denied' if decision.denied else 'needed an approval'}")


def _refusal(what: str) -> RunError:
    return RunError(
        f"{what} before the documents changed; they have another step in its place, or none",
        kind=ErrorKind.DRIFT,
        hint="an approval that was asked for cannot be taken out of a run; start a new run",
    )


__all__ = ["refuse_replaced", "refuse_vanished", "stale_gates"]
