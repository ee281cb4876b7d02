"""Confirm the recorded result of a step that is an approval itself: the trace must have what it stands for.

Of any other step a forged result only stands for an execution that never was. Of such a step it would stand for what
people decided, and what comes after it would be executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gert_core.api import ErrorKind, RunError, StepProblem
from gert_core.approvals.binding import request_of
from gert_core.approvals.checks import UNSEALED, recount
from gert_core.engine.again import SecretNeeded
from gert_core.engine.steps.approval import checked_against
from gert_core.engine.steps.render import render_step
from gert_core.plugin.functions import PluginFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest
    from gert_core.approvals.checks import Approvals
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.steps.execution import StepExecution


def confirm_gate(execution: StepExecution) -> None:
    """Raise ``RunError`` unless a step that succeeded was approved, as far as keys can tell.

    In a signed run the key of the trace has sealed the approval. In any other one the answers are checked as when they
    were given, where policies give keys to people or require signatures; without keys there is nothing to check with.
    """
    known, recorded = checked_against(execution), execution.services.recorded
    keys = known.people.have_keys or known.people.personal_keys or execution.facts.policies.require_signed
    if recorded is None or execution.facts.mode != "real" or (known.sign is None and not keys):
        return
    reason = _fault(execution, recorded.approval(execution.key), known)
    if reason is not None:
        raise RunError(
            f"the result of step {execution.key} in the trace stands for an approval that cannot be verified: {reason}",
            kind=ErrorKind.APPROVAL_UNVERIFIED,
            hint="start a new run; a forged approval is never accepted",
        )


def _fault(execution: StepExecution, approval: RecordedApproval | None, known: Approvals) -> str | None:
    """Return why a recorded approval is not one of this step; None when it is."""
    if approval is None or approval.resolved is None or not approval.resolved.get("approved"):
        return "there is none"
    request = _requested(execution, approval.document)
    if request is None or request.ticket_id != approval.ticket_id:
        return "it was not requested for this step"
    if known.sign is not None:
        return None if known.is_sealed(approval.resolved, request) else UNSEALED
    signed = request.require_signed or False
    request = replace(request, require_signed=signed, **_asked_for(execution))
    return recount(approval.responses, request, known)[1]


def _requested(execution: StepExecution, document: Mapping[str, Any] | None) -> ApprovalRequest | None:
    """Return the request of a recorded document; None when it is that of another step, or none at all."""
    if document is None:
        return None
    try:
        request = request_of(document)
    except (LookupError, TypeError, ValueError):
        return None
    mine = (request.run_id, request.step_key) == (execution.facts.run_id, execution.key)
    return request if mine else None


def _asked_for(execution: StepExecution) -> dict[str, Any]:
    """Return whose approval the step and the policies ask for now; nothing when the step cannot be rendered again."""
    try:
        render_step(execution)
    except (StepProblem, PluginFault, SecretNeeded):
        return {}
    decision = execution.run.decisions.of(execution, None)[0]
    return {name: getattr(decision, name) for name in ("min_approvers", "approvers", "exclude_actor")}


__all__ = ["confirm_gate"]
