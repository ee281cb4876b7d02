"""The close phase: contract check, variables, ``step_complete``, and how the list continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gert_core.api import Completed, Ended, Errored, ErrorKind, EventType, Failed, StepProblem, StepStatus
from gert_core.engine.flow.frame import Done
from gert_core.engine.progress import Evaluation
from gert_core.engine.signals import Failure, Rank, Signal
from gert_core.engine.steps.attempts import restore_attempts
from gert_core.engine.steps.compiled import must_sync
from gert_core.engine.steps.exports import apply_state, bounded_detail, completion_data, keep_entry, mask_failure
from gert_core.engine.steps.outputs import check_contract, check_fields, compares, normalise
from gert_core.engine.steps.results import type_fault
from gert_core.plugin.functions import Unusable
from gert_core.template import Symbol
from gert_core.trace.writer import EventDataError
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Result
    from gert_core.engine.progress import Outline
    from gert_core.engine.resume.records import RecordedResult
    from gert_core.engine.steps.execution import StepExecution


def close(execution: StepExecution, result: Result | None) -> Done:
    """Close with a result, or with a signal."""
    if execution.signals.worst is not None:
        return _close_signal(execution, execution.signals.worst, result)
    assert result is not None  # noqa: S101 - without a signal there is a result
    if isinstance(result, Ended):
        return _close_end(execution, result)
    outputs, failed = result.outputs, not isinstance(result, Completed)
    try:
        outputs = normalise(execution, outputs) if outputs else {}
        if outputs or execution.compiled.declares_outputs or execution.rendered_levels:
            outputs = check_contract(execution, outputs, failed=failed)
        fields = result.fields
        if fields or execution.compiled.type.fields:
            fields = check_fields(execution, fields, failed=failed)
    except StepProblem as problem:
        if not isinstance(result, Errored):  # an error is not hidden by another one
            # What was written may contain secret outputs that are not known yet.
            detail = {} if execution.contract.secret_outputs else result.detail
            result = Errored(kind=problem.kind, message=problem.message, detail=detail)
        outputs, fields = {}, {}
    if result.principal is not None and execution.principal in (None, execution.facts.acting):
        execution.principal = result.principal
    if isinstance(result, Completed):
        return finish(execution, StepStatus.SUCCESS, completion_data(outputs, fields, None, result.detail))
    status = StepStatus.FAILED if isinstance(result, Failed) else StepStatus.ERROR
    failure = {"kind": result.kind, "message": _reason(execution, result)}
    data = completion_data(outputs, fields, failure, result.detail)
    if isinstance(result, Errored) and not result.acted and execution.compiled.leaf:
        data["started"] = False
    return finish(execution, status, data)


def _reason(execution: StepExecution, result: Failed | Errored) -> str:
    """Return the message of a failure; a step that ran out of a time that is not its own says whose it was."""
    limit = execution.deadline.limit if result.kind == ErrorKind.TIMEOUT and execution.deadline.expired else ""
    if limit == execution.compiled.limit:
        return result.message
    return f"{result.message}; {limit}" if limit else result.message


def _close_end(execution: StepExecution, result: Ended) -> Done:
    outcome = result.outcome
    done = finish(execution, StepStatus.SUCCESS, {"outcome": outcome.to_json()})
    if done.status is not StepStatus.SUCCESS:
        return done
    execution.run.reach(outcome)
    if not execution.maybe:  # in dry-run a guard that is undecided may let the run continue
        done.signal = Signal(rank=Rank.ENDED, outcome=outcome, outcome_key=execution.key)
    return done


def _close_signal(execution: StepExecution, signal: Signal, result: Result | None = None) -> Done:
    """Close a step with blocks because of a block's signal; one that is cancelled or suspended is left open.

    ``result`` has the fields of a step that tells how its blocks came out although one of them failed. After a denial
    only its detail is kept: earlier versions recorded no fields then, and a resumed run must write the same.
    """
    if signal.rank in (Rank.CANCELLED, Rank.SUSPENDED):
        execution.services.progress.left_open(execution.info, cancelled=signal.rank is Rank.CANCELLED)
        return Done(status=StepStatus.SKIPPED, signal=signal)
    if signal.rank is Rank.ENDED:
        done = finish(execution, StepStatus.SUCCESS, {})
        if not execution.uncertain:  # in dry-run a failure before the end may let the run continue
            done.signal = signal
        return done
    first = signal.first
    status = StepStatus.ERROR if signal.status == "error" else StepStatus.FAILED
    told = [
        failure.message if failure.key == execution.key else f"step {failure.key}: {failure.message}"
        for failure in (first, *signal.later)
    ]
    data: dict[str, object] = {"failure": {"kind": first.kind, "message": "; then ".join(told)}}
    if untrue := {name: False for name, kind in execution.compiled.type.fields.items() if kind == "bool"}:
        data["fields"] = untrue
    if isinstance(result, Completed):
        try:
            if signal.rank is Rank.FAILED:
                data["fields"] = check_fields(execution, result.fields, failed=True)
            if result.detail:
                data["detail"] = bounded_detail(result.detail)
        except StepProblem as problem:
            execution.services.progress.warn(f"step {execution.key}: {problem.message}", step=execution.info)
    return finish(execution, status, data, cause=signal)


def finish(
    execution: StepExecution,
    status: StepStatus,
    data: dict[str, Any],
    *,
    denied: Failure | None = None,
    cause: Signal | None = None,
) -> Done:
    """Update the state, write ``step_complete`` as the last event of the key, and return how the list continues."""
    services, compiled = execution.services, execution.compiled
    outputs, fields = data.get("outputs", {}), data.get("fields", {})
    if services.backend.symbolic:
        from gert_core.engine.modes.explore import weigh, weighed

        weigh(execution)
        outputs, fields = weighed(execution, outputs), weighed(execution, fields)
    try:
        execution.exported = apply_state(execution, status, outputs, fields)
        if compiled.keeps and status is StepStatus.SUCCESS:
            from gert_core.engine.steps.artifacts import keep_artifacts

            keep_artifacts(execution, outputs, fields)
    except StepProblem as problem:
        status = StepStatus.ERROR
        data = {**data, "failure": {"kind": problem.kind, "message": problem.message}}
        keep_entry(execution, status, outputs, fields)
    data = mask_failure(data, services.masker)
    if execution.exported:
        scope = "/".join(execution.scope) if execution.scope else None
        execution.add(
            EventType.SCOPE_EXPORT, {"step_id": compiled.id, "scope": scope, "exported_vars": execution.exported}
        )
    hits = services.masker.hits(data) if services.masker.count else 0
    if hits:
        execution.add(EventType.REDACTION_APPLIED, {"step_id": compiled.id, "pattern_count": hits})
    duration = services.backend.step_seconds(execution.began)
    times: dict[str, str] = {}
    if services.waits.spans and (waited := services.waits.seconds(execution.key, since=execution.began)):
        duration -= waited
        times = {"waited": format_duration(waited)}
        data = {**data, **times}
    try:
        _write(execution, status, data, duration)
    except EventDataError as error:  # of its detail or outcome: outputs and fields are JSON already
        status = StepStatus.ERROR
        fault = type_fault(execution, "run", Unusable(f"its result cannot be written as JSON: {error.__context__}"))
        told = {"kind": fault.kind, "message": fault.message}
        data = {"outputs": outputs, "fields": fields, "failure": told, **times}
        keep_entry(execution, status, outputs, fields)
        _write(execution, status, data, duration)
    if must_sync(execution.contract) if execution.rendered_levels else compiled.synced:
        services.journal.sync()
    else:
        services.journal.commit()
    if execution.claim is not None:
        execution.claim.end(execution)
    if services.progress.listens:
        services.progress.finished(execution.info, status, data, duration)
    if services.backend.symbolic and status is not StepStatus.SKIPPED and execution.step is not None:
        _tell(execution)
    if denied is not None:
        return Done(status=status, signal=Signal(rank=Rank.DENIED, failures=(denied,)))
    if cause is not None and cause.rank is Rank.DENIED:
        return Done(status=status, signal=cause)
    failure = None
    if cause is None and "failure" in data:
        failure = Failure(key=execution.key, step_id=compiled.id, status=str(status), **data["failure"])
    done = _done(execution, status, outputs, failure=failure, cause=cause)
    done.fields, done.failure = fields, data.get("failure")
    return done


def _write(execution: StepExecution, status: StepStatus, data: Mapping[str, Any], seconds: float) -> None:
    written = {"step_id": execution.compiled.id, "status": str(status), **data, "duration": format_duration(seconds)}
    execution.add(EventType.STEP_COMPLETE, written)


def _tell(execution: StepExecution) -> None:
    """Tell progress what is known of a step with one line of its own."""
    from gert_core.engine.steps.outline import outline_of

    progress = execution.services.progress
    if execution.decision is not None:
        progress.evaluated(execution.info, _evaluation(execution, outline_of(execution)))
    elif execution.compiled.single and not execution.info.loop:
        progress.outlined(execution.info, outline_of(execution))


def _evaluation(execution: StepExecution, outline: Outline) -> Evaluation:
    """Return the information for progress about a step that was not executed."""
    from gert_core.explain.words import gate_words

    facts, compiled = execution.facts, execution.compiled
    tool = facts.runbook.tools[compiled.use.tool].tool if compiled.use is not None else None
    return Evaluation(
        contract=execution.contract,
        decision=execution.decision,
        inputs=execution.inputs if compiled.has_inputs else {},
        command=_command(execution),
        secrets=facts.secrets.present(secret.env for secret in tool.all_secrets) if tool is not None else {},
        platforms=tuple(tool.meta.platform) if tool is not None else (),
        retry=compiled.retry if compiled.retry is not None and compiled.retry.applies(execution.contract) else None,
        outline=outline,
        asks=execution.gate.message if execution.gate is not None else None,
        terms=gate_words(execution.gate) if execution.gate is not None else "",
        lacking=_lacking(execution),
    )


def _lacking(execution: StepExecution) -> str:
    """Return why the approval that a step needs cannot be given, as a real run would be refused for it."""
    from gert_core.governance.enough import shortage

    found = shortage(execution.decision, execution.facts.policies, execution.facts.actors)
    return "" if found is None else found.message


def _command(execution: StepExecution) -> tuple[str, ...]:
    """Return the command line of a step's tool; nothing when the action cannot be rendered, which the step says."""
    from gert_core.tools import preview

    use, action = execution.compiled.use, execution.compiled.action
    if use is None or action is None:
        return ()
    try:
        return preview(execution.facts.runbook.tools[use.tool], action, execution.inputs)
    except StepProblem:
        return ()


def close_recorded(execution: StepExecution, record: RecordedResult) -> Done:
    """Close a leaf with the recorded result of an earlier process, without rendering, governance or an event."""
    services, compiled = execution.services, execution.compiled
    if services.recorded is not None and compares(compiled) and record.status == StepStatus.SUCCESS:
        lost = any(isinstance(value, Symbol) for value in record.outputs.values())  # a secret output
        if not lost:
            services.determinism.check(compiled, services.recorded.inputs(execution.key), record.outputs)
    if services.recorded is not None:
        restore_attempts(execution, services.recorded)
    status = StepStatus(record.status)
    try:
        execution.exported = apply_state(execution, status, record.outputs, record.fields)
    except StepProblem:  # it collided in the earlier process as well, which is recorded
        keep_entry(execution, status, record.outputs, record.fields)
    services.progress.recorded(execution.info)
    if record.outcome is not None:
        return Done(status=status, signal=Signal(rank=Rank.ENDED, outcome=record.outcome, outcome_key=execution.key))
    if record.stated and compiled.keeps and status is StepStatus.SUCCESS:
        from gert_core.engine.steps.artifacts import keep_of_stated

        try:
            keep_of_stated(execution, record)
        except StepProblem as problem:  # a policy denies violations
            status, told = StepStatus.ERROR, {"kind": problem.kind, "message": problem.message}
            keep_entry(execution, status, record.outputs, record.fields)
            record = replace(record, status=str(status), failure=told)
    failure = None
    if record.failure is not None:
        failure = Failure(key=execution.key, step_id=compiled.id, status=str(status), **record.failure)
    if record.reason in (ErrorKind.GOVERNANCE_DENIED, ErrorKind.APPROVAL_REJECTED):
        denied = failure or Failure(
            key=execution.key, step_id=compiled.id, status="skipped", kind=record.reason, message=record.reason
        )
        return Done(status=status, signal=Signal(rank=Rank.DENIED, failures=(denied,)))
    done = _done(execution, status, record.outputs, failure=failure)
    done.fields, done.failure = record.fields, record.failure
    return done


def _done(
    execution: StepExecution,
    status: StepStatus,
    outputs: Mapping[str, object],
    *,
    failure: Failure | None,
    cause: Signal | None = None,
) -> Done:
    failed = status is StepStatus.FAILED or status is StepStatus.ERROR
    if failed and status is StepStatus.ERROR and execution.compiled.gated and failure is not None:
        # What comes behind an approval that could not be asked for, or became void too often, was not approved.
        return Done(status=status, signal=Signal(rank=Rank.DENIED, failures=(replace(failure, status="skipped"),)))
    if failed and not execution.compiled.node.fields.continue_on_fail:
        if not execution.maybe:
            signal = cause or Signal(rank=Rank.FAILED, failures=(failure,) if failure else ())
            return Done(status=status, outputs=outputs, signal=signal)
        execution.run.doubts += 1  # in dry-run the run may continue behind it: if the undecided guard skips it
        status = StepStatus.SKIPPED
    return Done(
        status=status,
        outputs=outputs,
        jump=execution.jump,
        maybe=execution.maybe,
        uncertain=execution.uncertain,
    )


__all__ = ["close", "close_recorded", "finish"]
