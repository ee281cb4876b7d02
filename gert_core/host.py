"""Use gert as a library: load, validate, run and resume runbooks from another program."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gert_core.api import DocumentError, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gert_core.api import Console, Deadline, Question, RunStore
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.engine.cancel import Stop
    from gert_core.engine.progress import Progress
    from gert_core.plugin.registry import Registry
    from gert_core.runs.lifecycle.status import Standing
    from gert_core.runs.result import RunResult
    from gert_core.validation.pipeline import Validated


class SilentConsole:
    """A console without a person: nothing is shown and questions are not answered."""

    interactive = False
    terminal = False

    def say(self, text: str) -> None:
        """Show nothing."""

    def ask(
        self,
        prompt: str,
        *,
        deadline: Deadline,
        hidden: bool = False,
        fresh: bool = False,
        question: Question | None = None,
    ) -> str | None:
        """Return no answer."""
        return None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Enter at once: there is no terminal to share."""
        yield


def _registry(registry: Registry | None) -> Registry:
    return registry if registry is not None else installed()


def installed() -> Registry:
    """Return the plugins that are installed, but for those that the machine floor blocks."""
    from gert_core.documents.floor import plugin_floor
    from gert_core.plugin.registry import Registry as Installed

    machine = plugin_floor()
    return Installed.build(block_installed=machine.block, machine_require=machine.require)


def _project(path: Path) -> Project | None:
    from gert_core.documents.project import find_project

    return find_project(path.resolve().parent)


def validate(path: str | Path, *, registry: Registry | None = None) -> Validated:
    """Validate a document of any kind."""
    from gert_core.governance.findings import with_governance
    from gert_core.validation import validate_file

    plugins, project = _registry(registry), _project(Path(path))
    return with_governance(
        validate_file(Path(path), registry=plugins, project=project), registry=plugins, project=project
    )


def load(path: str | Path, *, registry: Registry | None = None) -> Runbook:
    """Load a valid runbook as a tree; raise ``DocumentError`` with every error otherwise."""
    from gert_core.validation import validate_runbook

    found = validate_runbook(Path(path), registry=_registry(registry), project=_project(Path(path)))
    errors = [d for d in found.diagnostics if d.severity is Severity.ERROR]
    if errors or found.runbook is None:
        raise DocumentError(f"{path} is not valid", file=str(path), diagnostics=errors)
    return found.runbook


def run(
    path: str | Path,
    *,
    inputs: Mapping[str, object] | None = None,
    mode: str = "real",
    registry: Registry | None = None,
    console: Console | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
    environ: Mapping[str, str] | None = None,
    policies: Sequence[Path] = (),
    store: str | RunStore | None = None,
    **options: Any,
) -> RunResult:
    """Run a runbook in this thread and return its result; call it from a worker thread in an async host.

    ``stop.throw(reason)`` from another thread cancels it. ``store`` is where the run is kept, or its address; without
    it, ``GERT_STORE`` and the project decide as for ``gert exec``. Further ``options`` are fields of
    ``gert_core.engine.request.Request`` (``actor``, ``approval``, ``trace``, ``scenario`` ...).
    """
    from gert_core.engine.cancel import Stop as NewStop
    from gert_core.engine.prepare import prepare
    from gert_core.engine.progress import Progress as Quiet
    from gert_core.engine.request import Request
    from gert_core.stores.choose import choose_store, with_address

    wanted = _registry(registry)
    wanted.require_healthy()
    project = options.pop("project", None) or _project(Path(path))
    known = dict(os.environ if environ is None else environ)
    with ExitStack() as stack:
        if isinstance(store, str) or (store is None and options.get("runs") is None):
            given, store = store, choose_store(project, registry=lambda: wanted, given=store, environ=known)
            known = dict(with_address(known, given))
            stack.callback(store.close)
        request = Request(
            runbook=Path(path),
            registry=wanted,
            project=project,
            console=console or SilentConsole(),
            mode=mode,
            host_vars=dict(inputs or {}),
            policies=tuple(policies),
            progress=progress or Quiet(),
            stop=stop or NewStop(),
            environ=known,
            store=store,
            **options,
        )
        if stop is None:
            stack.callback(request.stop.close)
        return prepare(request, stack).execute()


def resume(
    run_id: str,
    *,
    root: str | Path | None = None,
    store: str | RunStore | None = None,
    retry_failed: bool = False,
    reconcile: Mapping[str, str] | None = None,
    outputs: Mapping[str, Mapping[str, object]] | None = None,
    allow_drift: bool = False,
    ticket: str | None = None,
    yes: bool = False,
    abort: bool = False,
    registry: Registry | None = None,
    console: Console | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
    environ: Mapping[str, str] | None = None,
    **options: Any,
) -> RunResult:
    """Resume a run of a store, or below the runs directory ``root``, in this thread and return its result.

    ``retry_failed`` runs failed steps again; ``reconcile`` and ``outputs`` state by step key what became of steps whose
    effect is unknown; ``allow_drift`` uses recorded results although documents changed. ``yes`` runs again what took
    effect before cleanup or inside a step that failed by itself; ``abort`` runs open cleanup only and ends the run.
    Further ``options`` are fields of ``gert_core.engine.request.Request`` (``actor``, ``approval``, ``host_vars`` ...).
    Raise ``RunFinished``, which has the ``result``, when there is nothing left to do.
    """
    from gert_core.engine.again import RunAgain
    from gert_core.engine.cancel import Stop as NewStop
    from gert_core.engine.prepare import prepare
    from gert_core.engine.progress import Progress as Quiet
    from gert_core.engine.request import Request, Resume
    from gert_core.engine.resume.read import read_run
    from gert_core.stores.choose import opened, with_address

    wanted = _registry(registry)
    wanted.require_healthy()
    project = options.pop("project", None)
    asked: dict[str, Any] = {
        "retry_failed": retry_failed,
        "reconcile": reconcile or {},
        "outputs": outputs or {},
        "ticket": ticket,
        "yes": yes,
        "abort": abort,
    }
    own = NewStop() if stop is None else None
    named = store if isinstance(store, str) else None
    with opened(store, root, registry=lambda: wanted) as kept, closing(own) if own is not None else nullcontext():
        while True:
            try:
                with ExitStack() as stack:
                    recorded = read_run(kept, run_id, stack)
                    runbook = recorded.choices.runbook
                    request = Request(
                        runbook=runbook,
                        registry=wanted,
                        project=project or _project(runbook),
                        console=console or SilentConsole(),
                        progress=progress or Quiet(),
                        stop=stop or own or NewStop(),
                        environ=dict(with_address(os.environ if environ is None else environ, named)),
                        resume=Resume(run=recorded, allow_drift=allow_drift, **asked),
                        **options,
                    )
                    return prepare(request, stack).execute()
            except RunAgain as needed:  # a secret output is needed that only an earlier process knew
                asked = {"again": needed.keys, "known": needed.known}


def answer(
    run_id: str,
    step_key: str,
    values: Mapping[str, str],
    *,
    root: str | Path | None = None,
    store: str | RunStore | None = None,
    by: str,
    reject: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[str]:
    """Answer questions of a step of a suspended run; return the names that are still to be answered.

    ``reject`` declines the step for a reason instead. A resumed run uses the answers.
    """
    from gert_core.engine.answering import answer as keep
    from gert_core.engine.answering import open_questions
    from gert_core.stores.choose import opened

    with opened(store, root, registry=installed) as kept, kept.open(run_id) as run:
        asked = open_questions(run, step_key)
        keep(asked, values, by=by, reject=reject, environ=os.environ if environ is None else environ)
        return [str(question["name"]) for question in asked.missing]


def block(
    run_id: str,
    *,
    root: str | Path | None = None,
    store: str | RunStore | None = None,
    key: str,
    reason: str = "",
    by: str | None = None,
    registry: Registry | None = None,
    environ: Mapping[str, str] | None = None,
) -> Standing:
    """Block a run until it is unblocked with ``key``; return where it stands then. One that is executed stops first.

    Raise ``RunError`` when it does not stop (kind ``still_running``), or is over, or blocked on this key already.
    """
    from gert_core.engine.blocking import block as write
    from gert_core.engine.run import default_actor
    from gert_core.stores.choose import opened

    known = os.environ if environ is None else environ
    who = by or default_actor(known)
    plugins = _registry(registry)
    with opened(store, root, registry=lambda: plugins) as kept:
        return write(run_id, store=kept, key=key, reason=reason, by=who, registry=plugins, environ=dict(known))


def unblock(
    run_id: str,
    *,
    root: str | Path | None = None,
    store: str | RunStore | None = None,
    key: str,
    by: str | None = None,
    registry: Registry | None = None,
    environ: Mapping[str, str] | None = None,
) -> Standing:
    """Unblock a run, by the key that a pause or ``block`` named; return where it stands then: it can be resumed.

    Raise ``RunError`` of kind ``run_locked``, ``not_blocked``, or, when other keys block it, ``unblock_key``.
    """
    from gert_core.engine.blocking import unblock as write
    from gert_core.engine.run import default_actor
    from gert_core.stores.choose import opened

    known = os.environ if environ is None else environ
    who = by or default_actor(known)
    plugins = _registry(registry)
    with opened(store, root, registry=lambda: plugins) as kept:
        return write(run_id, store=kept, key=key, by=who, registry=plugins, environ=dict(known))


__all__ = ["SilentConsole", "answer", "block", "load", "resume", "run", "unblock", "validate"]
