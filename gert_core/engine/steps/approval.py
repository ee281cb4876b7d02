"""The approve phase: ask for the step's approval, hold it against what is going to be executed, or close the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, EventType, Principal, RunError, StepProblem, StepStatus
from gert_core.approvals import ApprovalDecision, ApprovalProcess
from gert_core.approvals.binding import SHOWN, changed_fields
from gert_core.approvals.checks import Approvals, recount
from gert_core.engine.flow.frame import Done
from gert_core.engine.modes.deciding import find_rejection
from gert_core.engine.signals import CANCELLED, Failure, Rank, Signal
from gert_core.engine.steps.approval_request import build_request, window_like, window_of
from gert_core.engine.steps.claims import claim
from gert_core.engine.steps.close import finish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gert_core.api import ApprovalRequest, ApprovalSession
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.steps.execution import StepExecution

MAX_VOIDS: Final = 3
"""How often the request of one step may change after it was approved; then the step is an error."""
EXECUTED: Final = "execution"
"""What changed when an approval was used before: nothing of the request, but that it was not executed yet."""
_UNANSWERED: Final = (ErrorKind.APPROVAL_REJECTED, ErrorKind.APPROVAL_TIMEOUT, ErrorKind.APPROVAL_NO_ANSWER)
"""Ways to be without an approval that a step may handle itself; an answer that was tampered with ends the run."""


def approve(execution: StepExecution) -> Done | None:
    """Return None when the step may run; else its result: rejected, pending, or an error."""
    try:
        request, decision = _decide(execution)
    except ValueError as error:  # no hash of it, so nothing that an approval could be for
        return execution.unwritable(error)
    except StepProblem as problem:
        return _not_decided(execution, problem)
    return _settled(execution, request, decision)


def approve_again(execution: StepExecution) -> Done | None:
    """Return None when the next attempt would execute what was approved, or it was approved anew; else its result."""
    before, voids = execution.approved
    try:
        window = window_like(execution, before, before.document)
        now = build_request(execution, generation=before.generation, window=window)
        changed = changed_fields(before.document, now.document)
        if not changed:
            return None
        _void(execution, before.ticket_id, changed, voids + 1)
        request, decision = _ask(execution, None, generation=before.generation + 1, voids=voids + 1)
    except StepProblem as problem:
        return _not_decided(execution, problem)
    return _settled(execution, request, decision)


def _not_decided(execution: StepExecution, problem: StepProblem) -> Done:
    if execution.frame.deadline.cancelled:
        return Done(status=StepStatus.SKIPPED, signal=CANCELLED)
    failure = {"kind": problem.kind, "message": problem.message}
    return finish(execution, StepStatus.ERROR, {"type": execution.compiled.type.name, "failure": failure})


def _settled(execution: StepExecution, request: ApprovalRequest, decision: ApprovalDecision) -> Done | None:
    if decision.status == "approved":
        execution.approvers = decision.approvers
        return None
    if decision.status == "pending":
        if execution.frame.deadline.cancelled:
            return Done(status=StepStatus.SKIPPED, signal=CANCELLED)
        execution.services.progress.pending(execution.info, request)
        return Done(status=StepStatus.SKIPPED, signal=Signal(rank=Rank.SUSPENDED, tickets=(request.ticket_id,)))
    return _rejected(execution, decision)


def _decide(execution: StepExecution) -> tuple[ApprovalRequest, ApprovalDecision]:
    """Return the decision about the step, with what an earlier process recorded about it."""
    services = execution.services
    recorded = services.recorded.approval(execution.key) if services.recorded is not None else None
    voids = recorded.voids if recorded is not None else 0
    generation = 1
    if recorded is not None:
        generation = recorded.generation
        if recorded.spent:
            recorded, generation = None, generation + 1
    return _ask(execution, recorded, generation=generation, voids=voids)


def _ask(
    execution: StepExecution, recorded: RecordedApproval | None, *, generation: int, voids: int
) -> tuple[ApprovalRequest, ApprovalDecision]:
    """Ask until the approved request is still what is going to be executed."""
    while True:
        window = window_of(execution, recorded)
        request = build_request(execution, generation=generation, window=window)
        if recorded is None:
            execution.services.journal.commit()
        decision = _asked_or_recorded(execution, request, recorded)
        if decision.status == "rejected":
            return request, decision
        if recorded is not None and recorded.request_hash != request.request_hash:
            changed = changed_fields(recorded.document, request.document)
            ticket = recorded.ticket_id
        elif decision.status == "approved":
            again = build_request(execution, generation=generation, window=window)
            changed, ticket = changed_fields(request.document, again.document), request.ticket_id
            if not changed and not claim(execution, request):
                changed = [EXECUTED]
        elif window.older:  # an approver is asked only about what binds everything they see
            changed, ticket = [SHOWN], request.ticket_id
        else:
            return request, decision
        if not changed:
            execution.approved = request, voids
            return request, decision
        voids += 1
        _void(execution, ticket, changed, voids)
        recorded, generation = None, generation + 1


def _asked_or_recorded(
    execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
) -> ApprovalDecision:
    """Return the decision about a request; a rejection of an earlier process is final, whatever changed since."""
    if recorded is not None and recorded.resolved is not None and not recorded.resolved.get("approved"):
        data = recorded.resolved
        reason, message = str(data.get("reason") or ""), str(data.get("message") or "")
        return ApprovalDecision(status="rejected", reason=reason, message=message)
    if recorded is not None and recorded.request_hash != request.request_hash:
        if recorded.resolved is None and (rejected := find_rejection(execution, request, recorded)) is not None:
            return rejected
        return ApprovalDecision(status="pending")
    if recorded is not None and recorded.resolved is not None:
        return ApprovalDecision(status="approved", approvers=_verified(execution, request, recorded))
    return execution.services.backend.decide_approval(execution, request, recorded)


def _void(execution: StepExecution, ticket: str, changed: list[str], voids: int) -> None:
    """Trace that an approval no longer fits; raise when that has happened too often."""
    data = {"step_id": execution.compiled.id, "ticket_id": ticket, "changed": changed}
    execution.add(EventType.APPROVAL_VOID, data, fresh=True)
    names = ", ".join(changed)
    why = f"the approval request changed ({names})"
    if changed == [EXECUTED]:
        why = "its approval was used for an execution that this trace does not have"
    execution.services.progress.warn(f"step {execution.key}: {why} and must be approved again", step=execution.info)
    if voids >= MAX_VOIDS:
        raise StepProblem(ErrorKind.APPROVAL_VOID, f"the approval of the step became void {voids} times ({names})")


def _rejected(execution: StepExecution, decision: ApprovalDecision) -> Done:
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
    if _only_fails(execution, denied.kind):
        failure = {"kind": ErrorKind.APPROVAL_REJECTED, "message": denied.message}
        data = {"type": data["type"], "approval": data["approval"], "failure": failure}
        return finish(execution, StepStatus.FAILED, data)
    return finish(execution, StepStatus.SKIPPED, data, denied=denied)


def _only_fails(execution: StepExecution, reason: str) -> bool:
    """Return whether a step that demanded its approval by itself fails without it, instead of ending the run."""
    gate, recorded = execution.gate, execution.services.recorded
    if recorded is not None and recorded.gates.ends_the_run(execution.key):
        return False
    return gate is not None and gate.fails and reason in _UNANSWERED and not execution.decision.by_policy


def _verified(execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval) -> tuple[str, ...]:
    """Return who approved; refuse a recorded approval that its answers do not give when they are checked again."""
    approvers, reason = recount(recorded.responses, request, checked_against(execution))
    if reason is not None:
        raise RunError(
            f"the approval of step {execution.key} in the trace cannot be verified: {reason}",
            kind=ErrorKind.APPROVAL_UNVERIFIED,
            hint="set the keys the approval was verified with, then resume again; a forged approval is never accepted",
        )
    return approvers


def checked_against(execution: StepExecution) -> Approvals:
    """Return what answers are checked against in this run; a replay has no signatures, and takes people as given."""
    facts = execution.facts
    people = facts.policies.people
    return Approvals(
        actors=facts.actors,
        changed_by=tuple(execution.services.journal.state.changed_by),
        schemes=facts.registry.signature_scheme,
        environ=facts.environ,
        people=people.without_keys() if facts.mode == "replay" else people,
        sign=execution.services.journal.writer.sign,
        secrets_in=execution.services.masker.hits,
    )


def approval_process(
    execution: StepExecution,
    session: ApprovalSession,
    *,
    blocking: bool,
    now: Callable[[], datetime],
    refused: Callable[[], tuple[str, str] | None] = lambda: None,
) -> ApprovalProcess:
    """Return the approval process for one request of a step, over the session of a provider."""

    def emit(type: str, data: Mapping[str, object], principal: Mapping[str, Any] | None) -> None:  # noqa: A002
        by = None if principal is None else Principal(**principal)
        execution.add(type, data, principal=by, fresh=True)

    def warn(why: str) -> None:
        if execution.facts.mode == "replay":  # the answers are those that the author of the scenario wrote
            return
        execution.services.progress.warn(f"step {execution.key}: an answer has no effect: {why}", step=execution.info)

    return ApprovalProcess(
        session=session,
        blocking=blocking,
        emit=emit,
        sync=execution.services.journal.sync,
        now=now,
        known=checked_against(execution),
        submitted=lambda request: execution.services.progress.submitted(execution.info, request),
        refused=refused,
        aside=warn,
    )


__all__ = ["MAX_VOIDS", "approval_process", "approve", "approve_again"]
