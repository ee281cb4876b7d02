"""Have a step's approval decided by the run's provider, and find rejections of requests that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import ErrorKind, StepProblem
from gert_core.engine.modes.peers import open_provider

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, ApprovalSession
    from gert_core.approvals import ApprovalDecision
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.steps.execution import StepExecution

_LATE: Final = 2.0
"""The seconds in which a provider returns the answers that it has."""


def decide_by_provider(
    execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
) -> ApprovalDecision:
    """Submit the request to the run's approval provider, unless that was done already, and return the decision."""
    from gert_core.engine.steps.approval import approval_process

    services, provider = execution.services, execution.facts.approval
    if provider is None:
        raise StepProblem(ErrorKind.APPROVAL_PROVIDER, "an approval is needed, but no approval provider is installed")
    session: ApprovalSession = services.sessions.get("approvals", lambda: open_provider(execution, provider))
    if recorded is not None:
        session = _behind_rejections(execution, session, leaves=not provider.blocking)
    process = approval_process(
        execution, session, blocking=provider.blocking, now=lambda: services.backend.now(execution)
    )
    with services.waits.during(execution.key):
        return process.decide(
            request,
            deadline=execution.frame.deadline.under(services.leave),
            submitted=recorded is not None,
            recorded=recorded.responses if recorded is not None else (),
        )


def find_rejection(
    execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval
) -> ApprovalDecision | None:
    """Return the rejection of a recorded request that has changed since, when the run or its provider has one."""
    from gert_core.engine.steps.approval import approval_process

    services, provider = execution.services, execution.facts.approval
    session: ApprovalSession | None = None
    if provider is not None and not provider.blocking:  # who answers inside ``wait`` is asked about what is new
        session = services.sessions.get("approvals", lambda: open_provider(execution, provider))
    process = approval_process(
        execution,
        _behind_rejections(execution, session),
        blocking=False,
        now=lambda: services.backend.now(execution),
    )
    before = replace(
        request,
        ticket_id=recorded.ticket_id,
        request_hash=recorded.request_hash,
        created=recorded.created,
        expires_at=recorded.expires_at,
        document=recorded.document or {},
    )
    deadline = execution.frame.deadline.within(_LATE)
    return process.find_rejection(before, deadline=deadline, recorded=recorded.responses)


def _behind_rejections(
    execution: StepExecution, session: ApprovalSession | None, *, leaves: bool = False
) -> ApprovalSession:
    """Return a session whose first answers are the rejections that are kept with the run."""
    from gert_core.approvals.kept import KeptRejections  # only a run that was resumed has any

    stored = execution.facts.stored
    assert stored is not None  # noqa: S101 - what an earlier process recorded is kept
    return KeptRejections(stored, session, leaves=leaves)


__all__ = ["decide_by_provider", "find_rejection"]
