"""Prepare a run from a request: documents, policies, inputs, secrets, directory and trace, in that order.

A fresh run and a recorded one are prepared the same way. A recorded one is compared with its documents, takes its
inputs from its trace and continues that; this is in ``engine/resume``, which is imported only for recorded runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Services, UsageError
from gert_core.documents.limits import declared_at
from gert_core.engine.ahead import LookAhead
from gert_core.engine.cancel import Deadline
from gert_core.engine.check import check
from gert_core.engine.children_file import children_file
from gert_core.engine.constants import render_constants
from gert_core.engine.early_secrets import EarlySecrets
from gert_core.engine.holding import keep_holding
from gert_core.engine.journal import Journal, principal_of
from gert_core.engine.known_secrets import refuse_given
from gert_core.engine.last_approval import LastApproval
from gert_core.engine.modes.real import RealBackend
from gert_core.engine.place import check_place, new_place, recorded_place
from gert_core.engine.progress import Progress, SafeProgress, Unheard
from gert_core.engine.request import MODES, QUESTIONS
from gert_core.engine.requested import Requested
from gert_core.engine.run import Run, RunFacts, RunServices, default_actor, os_user, run_variables
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.engine.watching import watch_requests
from gert_core.governance import load_policies
from gert_core.governance.people import AGENT, id_fault
from gert_core.inputs import ResolvedInputs, resolve_inputs
from gert_core.kit.children import Children
from gert_core.kit.excerpts import hiding
from gert_core.kit.log import fault as log_fault
from gert_core.plugin.config import PluginServices
from gert_core.plugin.kinds import INPUT
from gert_core.runs.directory import new_run_id
from gert_core.secrets import collect
from gert_core.template import Symbol
from gert_core.trace.events import EPOCH, timestamp
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from gert_core.documents.tree import Runbook
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.modes.base import Backend
    from gert_core.engine.place import Place
    from gert_core.engine.request import Request, Resume
    from gert_core.engine.resume.plan import Resumption
    from gert_core.governance import Policies
    from gert_core.secrets import Masker, Secrets
    from gert_core.trace.observers import Observer


def prepare(request: Request, stack: ExitStack) -> Run:
    """Return a run ready to ``execute``; ``stack`` closes what was opened.

    Raise ``RunFinished`` when a recorded run has nothing left to do.
    """
    if request.mode not in MODES:
        raise UsageError(f"there is no mode {request.mode!r}", hint=f"modes are {', '.join(MODES)}; nothing was run")
    if request.questions is not None and request.questions not in QUESTIONS:
        raise UsageError(f"questions takes {', '.join(QUESTIONS)}, not {request.questions!r}; nothing was run")
    check_place(request)
    resume = request.resume
    if resume is not None:
        from gert_core.engine.resume.plan import as_recorded

        request = as_recorded(request, resume)
    backend = _backend(request)
    compiled = request.compiled or CompiledRunbook(_runbook(request))
    runbook = compiled.runbook
    policies = request.governed or load_policies(
        registry=request.registry,
        project=request.project,
        files=request.policies,
        runbook=runbook,
        floor=request.floor or request.mode != "replay",
    )
    documents = _documents(request, compiled, policies) if compiled.included else None
    given = request.actor if request.actor is not None or not request.scenario else request.scenario.actor or None
    actor = default_actor(request.environ) if given is None else given
    if (fault := id_fault(actor)) is not None:
        raise UsageError(f"{actor!a} cannot be the id of an actor: it {fault}", hint="give another with --as ID")
    if actor == AGENT:
        raise UsageError(f"{actor!a} names no agent", hint=f"write its id behind it: --as {AGENT}ID")
    resumption = (
        _resumption(resume, runbook, policies, actor=actor, documents=documents) if resume is not None else None
    )
    store = request.store if resume is None else resume.run.store
    driver = () if store is None else store.secrets
    if request.notify or (resume is not None and resume.run.state.facts.get("notify")):
        from gert_core.engine.notify import told_variables

        driver = (*driver, *told_variables(request))
    secrets = request.secrets or collect(runbook, request.environ, request.project, store=driver)
    if documents is not None:
        secrets = documents.join_secrets(secrets, request)
    signer = signer_from_environ(request.environ, request.registry.signature_scheme) if request.kept else None
    plugins = PluginServices(
        Services(console=request.console, actor=actor, environ=request.environ, cwd=_directory(request)),
        registry=request.registry,
        project=request.project,
    )
    by_document = {"": secrets, **(documents.secrets if documents is not None else {})}
    ahead = LookAhead(request, compiled, policies, documents, resumption)
    denial = ahead.denial()
    approval = ahead.provider(by_document, plugins, actor=actor, denied=denial is not None)
    run_id = new_run_id(runbook.name) if resume is None else resume.run.run_id
    request.progress.named(run_id)
    started = _started(request)
    about = run_variables(run_id, runbook.name, actor=actor, mode=request.mode, started=started)
    inputs, constants, masker = _values(request, runbook, secrets, plugins, about, stack, denied=denial is not None)
    refuse_given(masker, actor if given or request.environ.get("GERT_ACTOR") else "", request.trace)
    place = new_place(request, run_id, signer, stack) if resume is None else recorded_place(resume, signer)
    writer = TraceWriter(
        place.sink,
        run_id=place.run_id,
        sync=request.trace_sync,  # type: ignore[arg-type]
        masker=masker,
        signer=signer,
        observers=_observers(request),
        start_seq=place.start_seq,
        prev_hash=place.prev_hash,
    )
    stack.callback(writer.close)
    keep_holding(place.stored, place.lease, writer, request.stop, stack)
    requested = Requested()
    watch_requests(place.stored, place.lease, writer, request.stop, requested, stack, resumed=resume is not None)
    recorded = resume.run.recorded if resume is not None else None
    if resume is not None and recorded is not None:
        recorded.masker = masker
        masker.lost = recorded.is_lost
        for name, value in resume.known.items():
            masker.learn(name, value)
    facts = RunFacts(
        run_id=place.run_id,
        compiled=compiled,
        registry=request.registry,
        policies=policies,
        secrets=secrets,
        inputs=inputs,
        constants=constants,
        mode=request.mode,
        actor=actor if resume is None else str(resume.run.state.facts.get("actor") or actor),
        acting=principal_of(actor) if given or request.environ.get("GERT_ACTOR") else None,
        os_user=_os_user(request),
        started=started,
        environ=request.environ,
        choices=place.choices,
        store=place.store,
        stored=place.stored,
        trace=place.trace,
        cwd=_directory(request),
        approval=approval,
        questions=request.questions or "ask",
        resumption=resumption,
        documents=documents,
        denial=denial,
        notify=_notify(request, runbook),
    )
    services = RunServices(
        journal=Journal(writer, recorded),
        backend=backend,
        masker=masker,
        plugins=plugins.during(place.run_id, place.stored, since_last=LastApproval(request, place.store, masker)),
        progress=_listener(request, masker),
        stop=request.stop,
        leave=request.leave,
        requested=requested,
        recorded=recorded,
        children=_children(place, stack),
    )
    return Run(facts, services)


def _notify(request: Request, runbook: Runbook) -> Sequence[Mapping[str, object]]:
    """Return who is told of a real run that begins; most runs have no rules about that."""
    project = request.project
    rules = runbook.model.meta.on_outcome or request.notify or (project is not None and project.model.notify)
    if not rules or request.mode != "real" or request.resume is not None:
        return ()
    from gert_core.engine.notify import recorded_rules

    return recorded_rules(request, runbook)


def _observers(request: Request) -> Sequence[tuple[str, Observer]]:
    """Return who is told of events: the host's own observers, and those of plugins."""
    return (*request.observers, *(request.registry.trace_observers(request.mode) if request.observed else ()))


def _directory(request: Request) -> str | None:
    return None if request.cwd is None else str(request.cwd)


def _listener(request: Request, masker: Masker) -> Progress:
    """Return the listener of the run, whose errors do not reach it; one that does nothing has none."""
    if type(request.progress) is Progress:
        return Unheard()
    return SafeProgress(
        request.progress, lambda fault: log_fault("progress", fault, environ=request.environ, mask=masker.mask_text)
    )


def _children(place: Place, stack: ExitStack) -> Children:
    """Return where the programs that the run starts are kept, until it ends."""
    children = Children(None if place.stored is None else children_file(place.stored))
    stack.callback(children.close)
    return children


def _backend(request: Request) -> Backend:
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


def _documents(request: Request, compiled: CompiledRunbook, policies: Policies) -> IncludedDocuments:
    from gert_core.engine.documents import IncludedDocuments

    found = IncludedDocuments(compiled, request)
    found.check(policies)
    return found


def _runbook(request: Request) -> Runbook:
    if request.resume is None:
        return check(request)
    from gert_core.engine.resume.drift import same_runbook

    return same_runbook(request, request.resume)


def _resumption(
    resume: Resume, runbook: Runbook, policies: Policies, *, actor: str, documents: IncludedDocuments | None
) -> Resumption:
    from gert_core.engine.resume.plan import plan

    return plan(resume, runbook, policies, actor=actor, documents=documents)


def _values(
    request: Request,
    runbook: Runbook,
    secrets: Secrets,
    plugins: PluginServices,
    about: Mapping[str, str],
    stack: ExitStack,
    *,
    denied: bool,
) -> tuple[ResolvedInputs, Mapping[str, object], Masker]:
    """Return inputs, constants and the masker: resolved for a fresh run, as recorded for another.

    Until all inputs are known, messages are masked with the secrets that are. For a run that is ``denied``
    before its first step nothing is asked.
    """
    resume = request.resume
    if denied and resume is not None:
        from gert_core.engine.resume.inputs import values_as_written

        return values_as_written(resume.run.state, secrets)
    early = EarlySecrets(secrets)
    with early.hidden():
        if resume is not None:
            from gert_core.engine.resume.inputs import recorded_values

            inputs, constants, masker = recorded_values(request, resume.run.state, runbook, secrets, plugins)
        else:
            ask = request.mode != "dry-run" and not denied
            inputs = _resolved(request, runbook, plugins, ask=ask, secrets=early.given)
            if denied:
                inputs = _known(inputs)
            masker = secrets.masker(inputs.secrets, placeholders=request.mode == "replay")
    stack.enter_context(hiding(masker.places))
    if denied and len(inputs.values) < len(runbook.model.meta.inputs):
        constants = {}  # they may need what was not asked for
    elif resume is None:
        constants = render_constants(runbook.model.meta.constants, inputs.values, about=about, masker=masker)
    return inputs, constants, masker


def _resolved(
    request: Request, runbook: Runbook, plugins: PluginServices, *, ask: bool, secrets: dict[str, list[object]]
) -> ResolvedInputs:
    return resolve_inputs(
        runbook.model.meta.inputs,
        host_vars=request.host_vars,
        file_vars=request.file_vars,
        resolvers=request.registry.input_resolvers(),
        services=lambda resolver: plugins.of(INPUT, resolver.name),
        deadline=Deadline(request.stop),
        plugins=lambda resolver: request.registry.providers(INPUT, resolver.name),
        scenario=request.scenario.inputs if request.scenario is not None else None,
        ask=ask,
        place=lambda name: declared_at(runbook, name),
        giving=request.giving,
        secrets=secrets,
    )


def _known(inputs: ResolvedInputs) -> ResolvedInputs:
    """Return the inputs without those that only their sources know, which were not asked."""
    values = {name: value for name, value in inputs.values.items() if not isinstance(value, Symbol)}
    return ResolvedInputs(
        values=values,
        sources={name: inputs.sources[name] for name in values},
        events=tuple(event for event in inputs.events if event["input"] in values),
        secrets=inputs.secrets,
    )


def _started(request: Request) -> str:
    """Return when the run was started, the same in every process of it and in every replay."""
    if request.mode == "replay":
        return timestamp(EPOCH)
    if request.resume is None:
        return timestamp(request.stop.time.now())
    state = request.resume.run.state
    return str(state.facts.get("started") or state.started)


def _os_user(request: Request) -> str:
    """Return who started the run as the operating system knows them; a replay is the same for everybody."""
    if request.mode == "replay":
        return ""
    return os_user() if request.resume is None else str(request.resume.run.state.facts.get("os_user") or "")


__all__ = ["prepare"]
