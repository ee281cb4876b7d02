"""The approve phase: build the request, get the decision, and continue or close the step."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gert_core.api import ApprovalRequest, ErrorKind, Principal, RunError, StepProblem, StepStatus
from gert_core.approvals import ApprovalDecision, ApprovalProcess, request_hash, ticket_id
from gert_core.approvals.checks import unverified
from gert_core.engine.flow.frame import Done
from gert_core.engine.signals import CANCELLED, Failure, Rank, Signal
from gert_core.engine.steps.close import finish
from gert_core.tools import preview
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import ApprovalSession
    from gert_core.engine.resume.recorded import RecordedApproval
    from gert_core.engine.steps.execution import StepExecution


def approve(execution: StepExecution) -> Done | None:
    """Return None when the step may run; else its result: rejected, pending, or an error."""
    services = execution.services
    recorded = services.recorded.approval(execution.key) if services.recorded is not None else None
    try:
        request = _request(execution, recorded)
    except ValueError as error:  # no hash of it, so nothing that an approval could be for
        return execution.unwritable(error)
    if recorded is None:
        services.journal.commit()
    elif recorded.request_hash != request.request_hash:
        raise RunError(
            f"step {execution.key} does not match its earlier approval request: the runbook or the inputs changed",
            kind=ErrorKind.DRIFT,
            hint="an approval covers one request only; restore the files, or start a new run",
        )
    try:
        if recorded is not None and recorded.resolved is not None:
            _refuse_forged(execution, request, recorded)
            decision = _recorded_decision(recorded.resolved)
        else:
            decision = services.backend.decide_approval(execution, request, recorded)
    except StepProblem as problem:
        if execution.frame.deadline.cancelled:
            return Done(status=StepStatus.SKIPPED, signal=CANCELLED)
        failure = {"kind": problem.kind, "message": problem.message}
        return finish(execution, StepStatus.ERROR, {"type": execution.compiled.type.name, "failure": failure})
    if decision.status == "approved":
        return None
    if decision.status == "pending":
        if execution.frame.deadline.cancelled:
            return Done(status=StepStatus.SKIPPED, signal=CANCELLED)
        services.progress.pending(execution.info, request)
        return Done(status=StepStatus.SKIPPED, signal=Signal(rank=Rank.SUSPENDED, tickets=(request.ticket_id,)))
    denied = Failure(
        key=execution.key,
        step_id=execution.compiled.id,
        status="skipped",
        kind=decision.reason or ErrorKind.APPROVAL_REJECTED,
        message=decision.message or "the approval was rejected",
    )
    data = {
        "type": execution.compiled.type.name,
        "reason": ErrorKind.APPROVAL_REJECTED,
        "approval": {"reason": denied.kind, "message": denied.message},
    }
    return finish(execution, StepStatus.SKIPPED, data, denied=denied)


def _recorded_decision(data: Mapping[str, object]) -> ApprovalDecision:
    """Return the decision that an earlier process recorded."""
    return ApprovalDecision(
        status="approved" if data.get("approved") else "rejected",
        reason=str(data.get("reason") or ""),
        message=str(data.get("message") or ""),
    )


def _refuse_forged(execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval) -> None:
    """Refuse a recorded approval whose required signatures cannot be verified now."""
    if not request.require_signed or recorded.resolved is None or not recorded.resolved.get("approved"):
        return
    facts = execution.facts
    reason = unverified(recorded.responses, request, schemes=facts.registry.signature_scheme, environ=facts.environ)
    if reason is not None:
        raise RunError(
            f"the approval of step {execution.key} in the trace cannot be verified: {reason}",
            kind=ErrorKind.APPROVAL_UNVERIFIED,
            hint="set the keys the approval was verified with, then resume again; a forged approval is never accepted",
        )


def _request(execution: StepExecution, recorded: RecordedApproval | None) -> ApprovalRequest:
    facts, services, compiled, decision = execution.facts, execution.services, execution.compiled, execution.decision
    inputs = services.masker.mask(execution.inputs)
    contract = execution.contract.to_json()
    created, expires = _window(execution, recorded)
    return ApprovalRequest(
        ticket_id=ticket_id(facts.run_id, execution.key),
        run_id=facts.run_id,
        step_id=compiled.id,
        step_key=execution.key,
        runbook_name=facts.runbook.name,
        step_type=compiled.type.name,
        description=_description(execution),
        risk_level=decision.risk,
        contract=contract,
        inputs=inputs,
        runbook_hash=facts.runbook.document.digest,
        request_hash=request_hash(
            runbook_hash=facts.runbook.document.digest, step_id=compiled.id, contract=contract, inputs=inputs
        ),
        min_approvers=decision.min_approvers,
        requested_by=facts.actor,
        created=created,
        expires_at=expires,
        timeout=facts.policies.approval_timeout,
        command=_command(execution),
        exclude_actor=decision.exclude_actor,
        require_signed=facts.policies.require_signed,
        extensions=compiled.node.fields.extensions,
        rule=services.masker.mask_text(decision.approval_rules),
    )


def _description(execution: StepExecution) -> str:
    compiled = execution.compiled
    if compiled.use is None:
        return compiled.type.summary
    action = execution.facts.runbook.tools[compiled.use.tool].tool.actions[str(compiled.action)]
    return action.description or compiled.type.summary


def _command(execution: StepExecution) -> tuple[str, ...]:
    use, action = execution.compiled.use, execution.compiled.action
    if use is None or action is None:
        return ()
    words: tuple[str, ...] = preview(execution.facts.runbook.tools[use.tool], action, execution.inputs)
    return tuple(execution.services.masker.mask_text(word) for word in words)


def _window(execution: StepExecution, recorded: RecordedApproval | None) -> tuple[str, str]:
    """Return when the request was made and when it expires; a resumed request keeps its times."""
    if recorded is not None and recorded.expires_at:
        return recorded.created, recorded.expires_at
    facts, services = execution.facts, execution.services
    now = services.backend.now(execution)
    expires = datetime.fromtimestamp(now.timestamp() + facts.policies.approval_timeout, UTC)
    return timestamp(now), timestamp(expires)


def approval_process(
    execution: StepExecution, session: ApprovalSession, *, blocking: bool, now: Callable[[], datetime]
) -> ApprovalProcess:
    """Return the approval process for one request of a step, over the session of a provider."""
    facts = execution.facts

    def emit(type: str, data: Mapping[str, object], principal: Mapping[str, Any] | None) -> None:  # noqa: A002
        by = None if principal is None else Principal(**principal)
        execution.add(type, data, principal=by, fresh=True)

    return ApprovalProcess(
        session=session,
        blocking=blocking,
        emit=emit,
        sync=execution.services.journal.sync,
        schemes=facts.registry.signature_scheme,
        environ=facts.environ,
        now=now,
        actor=facts.actor,
    )


__all__ = ["approval_process", "approve"]
