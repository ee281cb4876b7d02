"""Decide how a recorded run goes on, and refuse before anything is written."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind, RunError, RunStatus, UsageError
from gert_core.documents.generated import document_digests
from gert_core.engine.resume.drift import changes, floor_changed, refuse, same_policies
from gert_core.engine.resume.passed_gates import refuse_replaced, refuse_vanished, stale_gates
from gert_core.engine.resume.reconcile import kept_results, refuse_strangers, stated_results
from gert_core.engine.resume.retry import around, keys_to_retry, risky_keys
from gert_core.engine.resume.survivors import wait_for_survivors
from gert_core.engine.resume.trust import refuse_forged
from gert_core.engine.run import documents_digest, os_user
from gert_core.governance.sources import recorded_answers
from gert_core.runs.result import RunResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tree import Runbook
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.request import Request, Resume
    from gert_core.governance import Policies
    from gert_core.runs.state import RunState, StepState

_LINE: Final = 200
"""How much of a line that a step wrote is shown."""


class RunFinished(Exception):  # noqa: N818 - not an error: the run has nothing left to do
    """The run is over; ``result`` is how it ended."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(str(result.status))
        self.result = result


class Resumption(Struct, frozen=True, kw_only=True):
    """What ``run_resumed`` records, and what the resumed run takes as recorded."""

    actor: str
    os_user: str
    """The operating system's name of who resumes the run; ``actor`` is what they claim."""
    void: list[str]
    """Keys of failed steps, of the steps around them and of what depends on them, to be executed again."""
    drift: list[str]
    """The files that changed, when that is allowed."""
    results: dict[str, dict[str, object]]
    """By step key the ``step_complete`` data of results that people stated."""
    kept: list[str]
    """Void keys whose recorded result is taken as it is: people stated that it stays."""
    reconciled: Mapping[str, str]
    ticket: str | None = None
    torn_bytes: int = 0
    abort: bool = False
    """Whether no further step runs but those of open cleanup."""


def as_recorded(request: Request, resume: Resume) -> Request:
    """Return the request with the choices that the run recorded when it began.

    Raise ``RunFinished`` when the run has nothing left to do.
    """
    run = resume.run
    refuse_forged(run, environ=request.environ, schemes=request.registry.signature_scheme)
    if nothing_left(resume):
        refuse_strangers(resume.reconcile, run.state.steps)
        raise RunFinished(RunResult(state=run.state, trace=run.trace, stored=run.stored))
    _refuse_blocked(run.state, run.stored.option)
    _check_ticket(resume)
    choices = run.choices
    _check_directory(choices.cwd, request.cwd, run.run_id)
    wait_for_survivors(run.stored, stop=request.stop, warn=request.progress.warn)
    return replace(
        request,
        mode=choices.mode,
        runbook=choices.runbook,
        policies=tuple(Path(file) for file in choices.policy_files),
        approval=request.approval or choices.approval_provider,
        questions=request.questions or choices.questions,
        trace_sync=choices.trace_sync,
        trace=run.trace,
        keep=True,
    )


def plan(
    resume: Resume, runbook: Runbook, policies: Policies, *, actor: str, documents: IncludedDocuments | None = None
) -> Resumption:
    """Return how the run goes on; refuse changed documents and steps whose effect is unknown."""
    run, state = resume.run, resume.run.state
    drift = changes(state.facts, runbook, policies, documents)
    if not resume.allow_drift:
        refuse(drift)
    run.recorded.allow_drift = resume.allow_drift
    run.recorded.gates.go_on_with(changed=bool(drift))
    run.recorded.floor_changed = floor_changed(state.facts, policies)
    run.recorded.same_policies = same_policies(state.facts, policies)
    policies.schedule_as(recorded_answers(state.facts.get("policies")))
    retry = resume.retry_failed and state.over
    void, whole = keys_to_retry(run.recorded, runbook) if retry else ([], frozenset())
    again = risky_keys(state, void) if retry else None
    run.recorded.lost.asked = frozenset(resume.again)
    void += [key for one in resume.again for key in (one, *around(one)) if key not in void]
    decisions = dict(resume.reconcile)
    if resume.yes:
        decisions = {record.key: "redo" for record in again or () if record.key in whole} | decisions
    abort = resume.abort or state.aborting
    unknown = [record for record in state.unknown_outcomes if not abort or _in_cleanup(record, runbook)]
    if abort:
        _refuse_decisions(decisions, [record.key for record in state.unknown_outcomes if record not in unknown])
    try:
        results = stated_results(
            state,
            runbook,
            unknown=unknown,
            decisions=decisions,
            outputs=resume.outputs,
            again=again,
            whole=whole,
            option=resume.run.stored.option,
        )
    except RunError as error:
        raise _with_output(error, resume, [record.key for record in unknown]) from None
    void += [key for key in _approved_again(resume) if key not in void]
    if state.approvals:
        digests = document_digests(runbook, None if documents is None else documents.policy_digests())
        now = documents_digest(digests, policies)
        stale = stale_gates(run.recorded, now, asked=state.steps, drift=bool(drift))
        if abort:  # no step but those of cleanup is executed again; what the others opened stays closed
            run.recorded.gates.reopen(stale)
            stale = [key for key in stale if _in_cleanup(state.steps[key], runbook)]
        refuse_replaced(runbook, stale)
        asked = {key: step for key, step in state.steps.items() if not abort or _in_cleanup(step, runbook)}
        void += [key for one in stale for key in (one, *around(one)) if key not in void and key in asked]
    if drift:
        refuse_vanished(run.recorded, runbook, void)
    return Resumption(
        actor=actor,
        os_user=os_user(),
        void=void,
        drift=drift,
        results=results,
        kept=kept_results(again or (), decisions, resume.outputs),
        reconciled=decisions,
        ticket=resume.ticket,
        abort=abort,
        torn_bytes=run.end.torn,
    )


def _refuse_decisions(decisions: Mapping[str, str], left: list[str]) -> None:
    """Refuse decisions about steps that an aborted run leaves as they are."""
    if wrong := [key for key in left if key in decisions]:
        raise UsageError(
            f"a run that is aborted leaves {', '.join(wrong)} as it is, so --reconcile has no effect on it",
            hint="leave --reconcile out: it is for interrupted steps of cleanup",
        )


def _with_output(error: RunError, resume: Resume, keys: list[str]) -> RunError:
    """Return the error with the last line that each of these interrupted steps wrote, where that was kept."""
    from gert_core.runs.outputs import last_lines

    lines = last_lines(resume.run.stored, keys)
    if not lines:
        return error
    said = "; ".join(f"the last line {key} wrote: {line[:_LINE]}" for key, line in lines.items())
    hint = f"gert runs logs {resume.run.run_id}{resume.run.stored.option} shows what it wrote; {error.hint}"
    return RunError(f"{error.message}; {said}", kind=error.kind, hint=hint)


def _approved_again(resume: Resume) -> list[str]:
    """Return the interrupted steps that a person decided to repeat and whose approval was used: it served one start."""
    redone = [key for key, decision in resume.reconcile.items() if decision == "redo"]
    return [key for key in redone if resume.run.recorded.approval(key) is not None]


def nothing_left(resume: Resume) -> bool:
    """Return whether the run is over and is only shown: nothing of it is executed again."""
    state = resume.run.state
    if state.aborted:
        return True
    if not state.over or state.status == RunStatus.CANCELLED:
        return False
    return not (resume.retry_failed and state.status in (RunStatus.FAILED, RunStatus.ERROR))


def _in_cleanup(record: StepState, runbook: Runbook) -> bool:
    found = (runbook.find(key) for key in (record.key, *around(record.key)))
    return any(one[1].in_cleanup for one in found if one is not None)


def _check_directory(cwd: str | None, chosen: Path | None, run_id: str) -> None:
    """Refuse to go on elsewhere: tools run in the working directory, and relative paths mean files there."""
    try:
        same = cwd is None or Path(cwd).samefile(chosen or Path.cwd())
    except OSError:
        same = False
    if not same:
        raise RunError(
            f"run {run_id} was started in {cwd}, and this process works elsewhere",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="change to that directory first; gert resume does it by itself",
        )


def _refuse_blocked(state: RunState, option: str) -> None:
    if not state.blocked:
        return
    keys = list(dict.fromkeys(hold.key for hold in state.holds))
    reasons = "; ".join(dict.fromkeys(hold.reason for hold in state.holds if hold.reason))
    first = shlex.quote(keys[0]) if keys else "KEY"
    raise RunError(
        f"run {state.run_id} is blocked on {', '.join(keys)}{f': {reasons}' if reasons else ''}",
        kind=ErrorKind.RUN_BLOCKED,
        hint=f"gert runs unblock {state.run_id}{option} --key {first}, then resume it",
    )


def _check_ticket(resume: Resume) -> None:
    state = resume.run.state
    if resume.ticket is None or resume.ticket in state.tickets or state.over:
        return
    raise UsageError(
        f"run {state.run_id} has no open ticket {resume.ticket!r}",
        hint=f"open tickets: {', '.join(sorted(state.tickets)) or 'none'}",
    )


__all__ = ["Resumption", "RunFinished", "as_recorded", "nothing_left", "plan"]
