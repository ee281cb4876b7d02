"""Hold a decision that an earlier process of the run recorded against today's: it can only become stricter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, EventType, RunError
from gert_core.engine.journal import KERNEL
from gert_core.governance.decision import strictest

if TYPE_CHECKING:
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.governance import Decision


def recalled(execution: StepExecution, recorded: Recorded) -> bool:
    """Return whether the decision about a step is in the trace; what is recorded can only make today's stricter.

    That of a step which is executed again holds too, whatever the policies have become since, or are again.
    """
    before = recorded.decision(execution.key)
    if recorded.gates.changed or recorded.floor_changed or before is None:
        if (earlier := recorded.earlier_decision(execution.key)) is None:
            return False
        today, strict = execution.decision, strictest(execution.decision, earlier, risk=execution.decision.risk)
        if before is None and (strict.terms, strict.serialize) == (today.terms, today.serialize):
            return False
        _decide_again(execution, strict)
        return True
    if before.terms != execution.decision.terms:
        # It may be of a process in which something else applied, and was put back.
        strict = strictest(execution.decision, before, risk=execution.decision.risk)
        if strict.terms == before.terms:
            execution.decision = strict
        elif recorded.same_policies and not recorded.state.changed_by:
            raise RunError(
                f"the trace says of step {execution.key}: {before.action}; the policies decide otherwise, and have not"
                " changed since the run started",
                kind=ErrorKind.TRACE_ALTERED,
                hint="somebody has altered the trace: start a new run",
            )
        else:
            _decide_again(execution, execution.decision if strict.terms == execution.decision.terms else strict)
    return True


def _decide_again(execution: StepExecution, decision: Decision) -> None:
    execution.decision = decision
    data = {"step_id": execution.compiled.id, **decision.to_json()}
    execution.add(EventType.GOVERNANCE_DECISION, data, principal=KERNEL, fresh=True)


__all__ = ["recalled"]
