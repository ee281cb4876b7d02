"""Brings a run to life: checks, inputs, policies, secrets, directory and trace, in that order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api import DocumentError, Services, Severity, UsageError
from gert_core.engine.cancel import Deadline, Stop
from gert_core.engine.constants import render_constants
from gert_core.engine.journal import Journal
from gert_core.engine.modes.real import RealBackend
from gert_core.engine.progress import Progress
from gert_core.engine.run import Run, RunFacts, RunServices, default_actor
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.governance import load_policies
from gert_core.inputs import resolve_inputs
from gert_core.plugin.config import PluginServices
from gert_core.plugin.kinds import INPUT
from gert_core.runs.choices import RunChoices
from gert_core.runs.directory import RunDirectory, new_run_id, runs_root
from gert_core.secrets import collect
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.sinks import FileSink, NullSink
from gert_core.trace.writer import TraceWriter
from gert_core.validation import validate_runbook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from gert_core.api import ApprovalProvider, Console
    from gert_core.documents.project import Project
    from gert_core.documents.scenario import ScenarioModel
    from gert_core.documents.tree import Runbook
    from gert_core.engine.modes.base import Backend
    from gert_core.governance import Policies
    from gert_core.plugin.registry import Registry
    from gert_core.secrets import Masker
    from gert_core.trace.signing import Signer

MODES: Final = ("real", "dry-run", "probe", "replay")
PROBE_EFFECTS: Final = frozenset({"network"})


class Request(Struct, frozen=True, kw_only=True):
    """What a host wants to run, and how."""

    runbook: Path
    registry: Registry
    console: Console
    project: Project | None = None
    mode: str = "real"
    host_vars: Mapping[str, object] = field(default_factory=dict)
    file_vars: Mapping[str, object] = field(default_factory=dict)
    scenario: ScenarioModel | None = None
    policies: Sequence[Path] = ()
    approval: str | None = None
    actor: str | None = None
    trace: Path | None = None
    trace_sync: str = "group"
    probe_effects: frozenset[str] = PROBE_EFFECTS
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    progress: Progress = field(default_factory=Progress)
    stop: Stop = field(default_factory=Stop)
    runs: Path | None = None
    keep: bool = True
    """False runs without a directory, observers and signature: the trace goes to ``trace``, or nowhere."""
    compiled: CompiledRunbook | None = None
    """The runbook when ``check`` found it valid already, for hosts that run it many times."""
    governed: Policies | None = None
    """Its policies when they are loaded already."""


def check(request: Request) -> Runbook:
    """The runbook, validated completely; ``DocumentError`` with every finding when it is wrong."""
    found = validate_runbook(
        request.runbook, registry=request.registry, project=request.project, environ=request.environ
    )
    errors = [d for d in found.diagnostics if d.severity is Severity.ERROR]
    if errors or found.runbook is None:
        count = f"{len(errors)} error{'s' if len(errors) != 1 else ''}"
        raise DocumentError(
            f"{request.runbook} is not valid: {count}; nothing was run",
            file=str(request.runbook),
            hint=f"gert validate {request.runbook} shows the lines",
            diagnostics=errors,
        )
    return found.runbook


def start(request: Request, stack: ExitStack) -> Run:
    """A run ready to ``execute``; ``stack`` closes what was opened."""
    if request.mode not in MODES:
        raise UsageError(f"there is no mode {request.mode!r}", hint=f"modes are {', '.join(MODES)}; nothing was run")
    backend = backend_for(request)
    compiled = request.compiled or CompiledRunbook(check(request))
    runbook = compiled.runbook
    policies = request.governed or load_policies(
        registry=request.registry, project=request.project, files=request.policies, runbook=runbook
    )
    secrets = collect(runbook, request.environ)
    signer = signer_from_environ(request.environ, request.registry.signature_scheme) if request.keep else None
    actor = request.actor or default_actor(request.environ)
    services = services_for(request, actor)
    inputs = resolve_inputs(
        runbook.model.meta.inputs,
        host_vars=request.host_vars,
        file_vars=request.file_vars,
        resolvers=request.registry.input_resolvers(),
        services=lambda resolver: services.of(INPUT, resolver.name),
        deadline=Deadline(request.stop),
        scenario=request.scenario.inputs if request.scenario is not None else None,
    )
    constants = render_constants(runbook.model.meta.constants, inputs.values)
    masker = secrets.masker(inputs.secrets)
    run_id = new_run_id(runbook.name)
    directory = None
    trace = request.trace
    if request.keep:
        directory = RunDirectory.create(request.runs or runs_root(request.project), run_id)
        stack.enter_context(directory.lock())
    choices = _choices(request, signer=signer, directory=directory)
    if directory is not None:
        directory.write_meta(runbook=request.runbook, trace=trace, extra=choices.to_meta())
    if trace is None and directory is not None:
        trace = directory.path / "trace.jsonl"
    writer = _writer(request, trace, run_id=run_id, masker=masker, signer=signer)
    stack.callback(writer.close)
    facts = RunFacts(
        run_id=run_id,
        compiled=compiled,
        registry=request.registry,
        policies=policies,
        secrets=secrets,
        inputs=inputs,
        constants=constants,
        mode=request.mode,
        actor=actor,
        environ=request.environ,
        directory=directory,
        approval=approval_provider(request),
        choices=choices,
    )
    return Run(
        facts,
        RunServices(
            journal=Journal(writer),
            backend=backend,
            masker=masker,
            plugins=services.during(run_id, directory.path if directory else None),
            progress=request.progress,
            stop=request.stop,
        ),
    )


def _writer(request: Request, trace: Path | None, *, run_id: str, masker: Masker, signer: Signer | None) -> TraceWriter:
    return TraceWriter(
        NullSink() if trace is None else FileSink(trace),
        run_id=run_id,
        sync=request.trace_sync,  # type: ignore[arg-type]
        masker=masker,
        signer=signer,
        observers=request.registry.trace_observers() if request.keep else (),
    )


def _choices(request: Request, *, signer: Signer | None, directory: RunDirectory | None) -> RunChoices:
    """Return what a resumed run chooses again; a replay records no paths, so that its trace is the same anywhere."""
    here = request.mode != "replay"
    return RunChoices(
        mode=request.mode,
        runbook_path=str(request.runbook.absolute()) if here else None,
        policy_files=tuple(str(path.absolute()) for path in request.policies) if here else (),
        approval_provider=_chosen_provider(request),
        trace_sync=request.trace_sync,
        signer={"algorithm": signer.algorithm, "key_id": signer.key_id} if signer is not None else None,
        cwd=_working_directory() if here else None,
        run_directory=str(directory.path.absolute()) if here and directory is not None else None,
    )


def _working_directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted
        return None


def services_for(request: Request, actor: str) -> PluginServices:
    """Return what plugins are lent."""
    services = Services(console=request.console, actor=actor, environ=request.environ)
    return PluginServices(services, registry=request.registry, project=request.project)


def backend_for(request: Request) -> Backend:
    """Return the backend of the mode; modules of other modes are not imported."""
    if request.mode == "real":
        return RealBackend()
    if request.mode == "replay":
        from gert_core.engine.modes.replay import ReplayBackend

        if request.scenario is None:
            raise UsageError("replay needs a scenario", hint="add --scenario DIR or --scenario NAME")
        return ReplayBackend(request.scenario)
    if request.mode == "probe":
        from gert_core.engine.modes.probe import ProbeBackend

        return ProbeBackend(request.probe_effects)
    from gert_core.engine.modes.dry_run import DryRunBackend

    return DryRunBackend()


def approval_provider(request: Request) -> ApprovalProvider | None:
    """Return the provider asked for, the project's, else one that can ask right here."""
    wanted = _chosen_provider(request)
    if wanted is not None:
        return request.registry.approval_provider(wanted)
    providers = request.registry.approval_providers().values()
    return next((p for p in sorted(providers, key=lambda p: p.name) if p.blocking), None)


def _chosen_provider(request: Request) -> str | None:
    if request.approval is None and request.project is not None:
        return request.project.model.approvals.provider
    return request.approval


__all__ = ["MODES", "PROBE_EFFECTS", "Request", "approval_provider", "backend_for", "check", "services_for", "start"]
