"""A run's second life: recover the trace, refuse drift and unknown outcomes, go on where it stopped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api import ErrorKind, EventType, InputError, Principal, RunError, RunStatus, UsageError
from gert_core.engine.cancel import Stop
from gert_core.engine.journal import Journal
from gert_core.engine.modes.real import RealBackend
from gert_core.engine.prepare import Request, approval_provider, services_for
from gert_core.engine.progress import Progress
from gert_core.engine.resume.drift import changes, refuse, same_runbook
from gert_core.engine.resume.reconcile import settle, voided
from gert_core.engine.resume.recorded import Recorded
from gert_core.engine.resume.trust import refuse_forged
from gert_core.engine.run import Run, RunFacts, RunServices, default_actor
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.governance import load_policies
from gert_core.inputs import ResolvedInputs
from gert_core.runs.choices import recorded_choices
from gert_core.runs.directory import RunDirectory
from gert_core.runs.result import RunResult
from gert_core.secrets import collect
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter
from gert_core.values import coerce_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack

    from gert_core.api import Console
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.plugin.registry import Registry
    from gert_core.runs.choices import RunChoices
    from gert_core.runs.state import RunState
    from gert_core.secrets import Masker, Secrets


class ResumeRequest(Struct, frozen=True, kw_only=True):
    """Which run to go on with, and what the person decided about it."""

    root: Path
    run_id: str
    registry: Registry
    console: Console
    project: Project | None = None
    retry_failed: bool = False
    reconcile: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    allow_drift: bool = False
    ticket: str | None = None
    actor: str | None = None
    approval: str | None = None
    host_vars: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    progress: Progress = field(default_factory=Progress)
    stop: Stop = field(default_factory=Stop)


class Finished(Exception):  # noqa: N818 - the run has nothing left to do
    """The run is over; ``result`` is how it ended."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(str(result.status))
        self.result = result


def resume(request: ResumeRequest, stack: ExitStack) -> Run:
    """A run ready to go on; raises ``Finished`` when there is nothing to do."""
    directory = RunDirectory.open(request.root, request.run_id)
    stack.enter_context(directory.lock())
    recovered = directory.recover()
    recorded = Recorded(directory.trace, allow_drift=request.allow_drift)
    state = recorded.state
    if not state.facts:
        raise RunError(
            f"run {request.run_id} never started: its trace is empty",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="start a new run",
        )
    choices = recorded_choices(state.facts, directory.meta(), directory=directory.path)
    if choices.mode != "real":
        raise RunError(f"run {request.run_id} was a {choices.mode} and cannot be resumed", kind=ErrorKind.NOT_RESUMABLE)
    refuse_forged(
        directory.trace,
        signed=choices.signer is not None,
        environ=request.environ,
        schemes=request.registry.signature_scheme,
    )
    _refuse_finished(request, state, directory)
    first = _first_request(request, choices)
    runbook = same_runbook(first, state.facts, allowed=request.allow_drift)
    policies = load_policies(registry=request.registry, project=request.project, files=first.policies, runbook=runbook)
    drift = changes(state.facts, runbook, policies)
    if not request.allow_drift:
        refuse(drift)
    retry = request.retry_failed and state.over
    void = voided(state) if retry else []
    settled = settle(state, runbook, verdicts=request.reconcile, outputs=request.outputs, retry=retry)
    secrets = collect(runbook, request.environ)
    masker = recorded.masker = _masker(request, runbook, secrets, state.facts)
    inputs, constants = (masker.unmask(state.facts.get(name) or {}) for name in ("inputs", "constants"))
    approval = approval_provider(first)
    actor = request.actor or default_actor(request.environ)
    signer = signer_from_environ(request.environ, request.registry.signature_scheme)
    if signer is None and choices.signer is not None:
        # A trace that was signed and ends unsigned does not verify, and nothing can mend it later.
        raise RunError(
            f"run {request.run_id} is signed (key {choices.signer['key_id']}), and no signing key is set now",
            kind=ErrorKind.SIGNING_KEY_MISSING,
            hint="set GERT_TRACE_SIGNING_KEY (and GERT_TRACE_SIGNING_KEY_ID), then resume again",
        )
    writer = TraceWriter(
        FileSink(directory.trace, append=True),
        run_id=request.run_id,
        sync=choices.trace_sync,  # type: ignore[arg-type]
        masker=masker,
        signer=signer,
        observers=request.registry.trace_observers(),
        start_seq=recovered.seq,
        prev_hash=recovered.prev_hash,
    )
    stack.callback(writer.close)
    journal = Journal(writer, recorded)
    _write_resumed(request, journal, torn=recovered.torn, actor=actor, void=void, drift=drift, settled=settled)
    recorded.void(void)
    for key, result in settled.items():
        recorded.complete(key, result)
    facts = RunFacts(
        run_id=request.run_id,
        compiled=CompiledRunbook(runbook),
        registry=request.registry,
        policies=policies,
        secrets=secrets,
        inputs=ResolvedInputs(values=inputs, sources=state.facts.get("input_sources") or {}, events=()),
        constants=constants,
        mode="real",
        actor=str(state.facts.get("actor") or actor),
        environ=request.environ,
        directory=directory,
        approval=approval,
        choices=choices,
    )
    return Run(
        facts,
        RunServices(
            journal=journal,
            backend=RealBackend(),
            masker=masker,
            plugins=services_for(first, actor).during(request.run_id, directory.path),
            progress=request.progress,
            stop=request.stop,
            recorded=recorded,
        ),
    )


def _first_request(request: ResumeRequest, choices: RunChoices) -> Request:
    return Request(
        runbook=choices.runbook,
        registry=request.registry,
        console=request.console,
        project=request.project,
        policies=tuple(Path(path) for path in choices.policy_files),
        approval=request.approval or choices.approval_provider,
        environ=request.environ,
    )


def _masker(request: ResumeRequest, runbook: Runbook, secrets: Secrets, facts: Mapping[str, Any]) -> Masker:
    """Secrets come from the environment again; secret inputs must be given again with ``--var``."""
    declared = runbook.model.meta.inputs
    given: dict[str, object] = {}
    for name, value in request.host_vars.items():
        if name not in declared or not declared[name].secret:
            raise UsageError(f"--var gives {name!r}, but a resumed run takes only its secret inputs again")
        try:
            given[name] = coerce_text(value, declared[name].type) if isinstance(value, str) else value
        except ValueError:
            raise InputError(
                f"the input {name!r} must be {declared[name].type}; its value is secret and not shown"
            ) from None
    recorded = facts.get("inputs") or {}
    missing = [n for n, m in declared.items() if m.secret and n not in given and recorded.get(n) is not None]
    if missing:
        raise InputError(
            f"the secret input{'s' if len(missing) > 1 else ''} {', '.join(missing)} must be given again: "
            "secrets are not kept in the trace",
            kind=ErrorKind.SECRET_MISSING,
            hint=f"gert resume --run {request.run_id} {' '.join(f'--var {name}=…' for name in missing)}",
        )
    return secrets.masker(given)


def _refuse_finished(request: ResumeRequest, state: RunState, directory: RunDirectory) -> None:
    if not state.over or state.status == RunStatus.CANCELLED:
        return
    if request.retry_failed and state.status in (RunStatus.FAILED, RunStatus.ERROR):
        return
    raise Finished(RunResult(state=state, trace=directory.trace))


def _write_resumed(
    request: ResumeRequest,
    journal: Journal,
    *,
    torn: int,
    actor: str,
    void: list[str],
    drift: list[str],
    settled: Mapping[str, Mapping[str, object]],
) -> None:
    data: dict[str, object] = {"actor": actor, "host": os.uname().nodename, "void": void}
    if torn:
        data["torn_bytes"] = torn
    if drift:
        data["drift"] = drift
    if request.reconcile:
        data["reconciled"] = dict(request.reconcile)
    if request.ticket is not None:
        data["ticket_id"] = request.ticket
    journal.add(EventType.RUN_RESUMED, data)
    for key, result in settled.items():
        journal.add(EventType.STEP_COMPLETE, result, key=key, principal=Principal(kind="human", id=actor), fresh=True)
    journal.sync()


__all__ = ["Finished", "ResumeRequest", "resume"]
