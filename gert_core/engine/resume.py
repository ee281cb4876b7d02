"""A run's second life: recover the trace, refuse drift and unknown outcomes, go on where it stopped."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import RunError, RunStatus, UsageError
from gert_core.engine.cancel import Stop
from gert_core.engine.journal import Journal
from gert_core.engine.progress import Progress
from gert_core.engine.recall import Recorded
from gert_core.engine.run import Run, default_actor
from gert_core.engine.start import Request, approval_provider, check, services_for
from gert_core.engine.world import RealWorld
from gert_core.governance import load_policies
from gert_core.inputs import ResolvedInputs
from gert_core.runs import RunDirectory
from gert_core.secrets import collect
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.state import parent_key
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack

    from gert_core.api import Console
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.governance import Policies
    from gert_core.plugin.registry import Registry
    from gert_core.secrets import Masker, Secrets
    from gert_core.trace.reader import Recovered
    from gert_core.trace.state import RunState

VERDICTS: Final = ("done", "redo", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
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
    """The run is over; ``state`` says how it ended."""

    def __init__(self, state: RunState, directory: RunDirectory) -> None:
        super().__init__(state.status)
        self.state = state
        self.directory = directory


def resume(request: ResumeRequest, stack: ExitStack) -> Run:
    """A run ready to go on; raises ``Finished`` when there is nothing to do."""
    directory = RunDirectory.open(request.root, request.run_id)
    stack.enter_context(directory.lock())
    meta = directory.meta()
    if meta.get("mode") != "real":
        raise RunError(
            f"run {request.run_id} was a {meta.get('mode')} and cannot be resumed", kind="not_resumable"
        )
    recovered = directory.recover()
    first = _first_request(request, meta)
    runbook = check(first)
    secrets = collect(runbook, request.environ)
    masker = _masker(request, runbook, secrets)
    recorded = Recorded(directory.trace, masker, allow_drift=request.allow_drift)
    state = recorded.state
    if recovered.seq == 0 or not state.facts:
        raise RunError(f"run {request.run_id} never started: its trace is empty", kind="not_resumable")
    _refuse_finished(request, state, directory)
    policies = load_policies(
        registry=request.registry, project=request.project, files=first.policies, runbook=runbook
    )
    drift = _drift(state, runbook, policies)
    if drift and not request.allow_drift:
        raise RunError(
            f"{' and '.join(drift)} changed since the run started",
            kind="drift",
            hint="start a new run, or go on with the recorded results: --on-drift allow",
        )
    settled = _reconcile(request, recorded)
    void = _voided(state) if request.retry_failed and state.over else []
    actor = request.actor or default_actor(request.environ)
    writer = _writer(request, directory, recovered, masker, sync=str(meta.get("trace_sync") or "group"))
    stack.callback(writer.close)
    _write_resumed(
        Journal(writer), recovered, actor=actor, void=void, drift=drift, settled=settled, ticket=request.ticket
    )
    recorded.void(void)
    for key, result in settled.items():
        recorded.complete(key, result)
    facts = state.facts
    return Run(
        run_id=request.run_id,
        runbook=runbook,
        registry=request.registry,
        policies=policies,
        journal=Journal(writer, recorded),
        world=RealWorld(),
        masker=masker,
        secrets=secrets,
        services=replace(services_for(first, actor), run_id=request.run_id, run_dir=directory.path),
        progress=request.progress,
        inputs=ResolvedInputs(
            values=masker.unmask(facts.get("inputs") or {}),
            sources=facts.get("input_sources") or {},
            events=(),
        ),
        constants=masker.unmask(facts.get("constants") or {}),
        directory=directory,
        mode="real",
        actor=str(facts.get("actor") or actor),
        environ=request.environ,
        approval=approval_provider(first),
        recall=recorded,
        stop=request.stop,
    )


def _first_request(request: ResumeRequest, meta: Mapping[str, Any]) -> Request:
    return Request(
        runbook=Path(str(meta.get("runbook_path"))),
        registry=request.registry,
        console=request.console,
        project=request.project,
        policies=tuple(Path(path) for path in meta.get("policies") or ()),
        approval=request.approval or meta.get("approval"),
        environ=request.environ,
    )


def _masker(request: ResumeRequest, runbook: Runbook, secrets: Secrets) -> Masker:
    """Secrets come from the environment again; secret inputs must be given again with ``--var``."""
    declared = runbook.model.meta.inputs
    for name in request.host_vars:
        if name not in declared or not declared[name].secret:
            raise UsageError(f"--var gives {name!r}, but a resumed run takes only its secret inputs again")
    given = {name: str(value) for name, value in request.host_vars.items()}
    return secrets.masker({**dict.fromkeys((n for n, m in declared.items() if m.secret), ""), **given})


def _refuse_finished(request: ResumeRequest, state: RunState, directory: RunDirectory) -> None:
    if not state.over or state.status == RunStatus.CANCELLED:
        return
    if request.retry_failed and state.status in (RunStatus.FAILED, RunStatus.ERROR):
        return
    raise Finished(state, directory)


def _drift(state: RunState, runbook: Runbook, policies: Policies) -> list[str]:
    """What is not as it was when the run started, by file."""
    facts, changed = state.facts, []
    if facts.get("runbook_hash") != runbook.document.digest:
        changed.append(f"runbook {runbook.document.file}")
    before = facts.get("tool_hashes") or {}
    for name, tool in runbook.tools.items():
        if before.get(name) != tool.digest:
            changed.append(f"tool {tool.document.file}")
    changed += [f"tool {name} (no longer listed)" for name in before if name not in runbook.tools]
    if facts.get("policy_digest") != policies.digest:
        changed.append("the policies")
    return changed


def _reconcile(request: ResumeRequest, recorded: Recorded) -> dict[str, dict[str, Any]]:
    """What people say about steps whose outcome is unknown; refuse to go on while one is open."""
    unknown = {record.key: record for record in recorded.state.unknown_outcomes}
    for key, verdict in request.reconcile.items():
        if key not in unknown:
            raise UsageError(
                f"--reconcile names {key!r}, whose outcome is not unknown",
                hint=f"unknown are: {', '.join(unknown) or 'none'}",
            )
        if verdict not in VERDICTS:
            raise UsageError(f"--reconcile {key} takes {', '.join(VERDICTS)}, not {verdict!r}")
    for key in request.outputs:
        if request.reconcile.get(key) != "done":
            raise UsageError(f"--outputs are for steps reconciled as done, and {key!r} is not")
    still = [key for key in unknown if key not in request.reconcile]
    if still:
        first = still[0]
        raise RunError(
            f"nobody knows whether {', '.join(still)} took effect: it writes, is not idempotent and was interrupted",
            kind="unknown_outcome",
            hint=f"look, then: gert resume --run {request.run_id} --reconcile {first}=done|redo|failed",
        )
    settled: dict[str, dict[str, Any]] = {}
    for key, verdict in request.reconcile.items():
        if verdict == "redo":
            continue
        data: dict[str, Any] = {"step_id": unknown[key].step_id, "status": "success", "reconciled": verdict}
        data["outputs"] = request.outputs.get(key, {}) if verdict == "done" else {}
        if verdict == "failed":
            data["status"] = "failed"
            data["failure"] = {"kind": "reconciled", "message": "a person found that it had not taken effect"}
        settled[key] = {**data, "duration": "0.000s"}
    return settled


def _voided(state: RunState) -> list[str]:
    """The failing steps and everything they stand in."""
    keys: dict[str, None] = {}
    for key in state.failing:
        while key:
            keys[key] = None
            key = parent_key(key)  # noqa: PLW2901 - walking up
    return [key for key in keys if key in state.steps]


def _writer(
    request: ResumeRequest, directory: RunDirectory, recovered: Recovered, masker: Masker, *, sync: str
) -> TraceWriter:
    return TraceWriter(
        directory.trace,
        run_id=request.run_id,
        sync=sync,  # type: ignore[arg-type]
        masker=masker,
        signer=signer_from_environ(request.environ, request.registry.signature_scheme),
        observers=request.registry.trace_observers(),
        start_seq=recovered.seq,
        prev_hash=recovered.prev_hash,
        append=True,
    )


def _write_resumed(
    journal: Journal,
    recovered: Recovered,
    *,
    actor: str,
    void: list[str],
    drift: list[str],
    settled: Mapping[str, Mapping[str, Any]],
    ticket: str | None,
) -> None:
    data: dict[str, Any] = {"actor": actor, "host": socket.gethostname(), "void": void}
    if recovered.torn:
        data["torn_bytes"] = recovered.torn
    if drift:
        data["drift"] = drift
    if ticket is not None:
        data["ticket_id"] = ticket
    journal.add("run_resumed", data)
    for key, result in settled.items():
        journal.add("step_complete", result, key=key)
    journal.sync()


__all__ = ["VERDICTS", "Finished", "ResumeRequest", "resume"]
