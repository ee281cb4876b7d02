"""Execute a run for ``exec`` and ``resume``: run, watch for signals, print the result, choose the exit code."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, GertError, RunError, RunStatus, UsageError
from gert_core.cli.aside import only_results
from gert_core.cli.errors import report
from gert_core.cli.lean import restore
from gert_core.cli.log import mask_log
from gert_core.cli.render.result import PLANS, show, show_next
from gert_core.cli.render.terminal import err, escape, flush, out, silence
from gert_core.cli.showing import watcher
from gert_core.engine.cancel import Stop
from gert_core.hosting.interrupt import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import StoredRun
    from gert_core.cli.showing import Showing, Watcher
    from gert_core.engine.run import Run
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.result import RunResult
    from gert_core.scenarios.recording.record import Recording

    Recorder = Callable[[Run], Recording | None]

_LAST_CODE: Final = 255
_FAIL_ON: Final = 4
_PENDING: Final = (RunStatus.APPROVAL_PENDING, RunStatus.ANSWER_PENDING, RunStatus.BLOCKED)


def carry_out(
    begin: Callable[..., Run],
    *,
    environ: Mapping[str, str],
    mode: str,
    no_input: bool,
    as_json: bool,
    shown: Showing,
    pending_exit_code: int = 0,
    fail_on: tuple[str, ...] | None = None,
    notify: bool = False,
    recorder: Recorder | None = None,
) -> int:
    """Start a run with ``begin(stack, console=, progress=, observers=, stop=, environ=)``, execute and report it.

    ``recorder`` is given the run when it has ended, and keeps it as a scenario if that is wanted.
    """
    if not 0 <= pending_exit_code <= _LAST_CODE:
        raise UsageError(f"--pending-exit-code takes 0 to {_LAST_CODE}, not {pending_exit_code}; nothing was run")
    stop = Stop()
    planned = mode in PLANS
    watching = watcher(shown, planned=planned, as_json=as_json, environ=environ)
    aside = as_json or not planned  # a plan for people is printed while it is made
    given: dict[str, Any] = {
        "console": watching.console(no_input=no_input),
        "progress": watching.listener,
        "observers": watching.observers,
    }
    # Signals are handled until everything is closed: closing may wait for a full pipe.
    with closing(stop), interrupts(stop) as interrupt, ExitStack() as stack:
        try:
            with only_results(descriptor=aside):
                run = begin(stack, stop=stop, environ=environ, **given)
        except GertError as error:
            if interrupt.signal is None:
                watching.end({"error": error.to_json()})
                raise
            report(RunError(f"cancelled by {stop.reason}; nothing was run", kind=ErrorKind.CANCELLED), as_json=as_json)
            return interrupt.exit_code
        restore(environ)
        watching.attach(run)
        mask_log(run.services.masker.mask_text)
        interrupt.run = run
        interrupt.last = lambda: _last_words(watching, run, as_json=as_json)
        try:
            with only_results(descriptor=aside):
                result = run.execute()
        except Exception as error:
            # The code that reports it does not know the secrets of this run: hand over how to mask them.
            error.mask = run.services.masker.mask_text  # type: ignore[attr-defined]
            raise
        finally:
            watching.close()
    if run.facts.stored is not None and result.status in _PENDING:
        from gert_core.runs.cache import load_state

        with suppress(GertError, OSError):  # a cache; what is wrong with it concerns the next command
            load_state(run.facts.stored)
    try:
        info = kept_info(run.facts.stored, result)
        document = _masked(run, document_of(result, info)) if as_json or shown.progress == "json" else {}
        recording = None if recorder is None else recorder(run)
        if recording is not None:
            document["record"] = recording.to_json()
        watching.end({"result": document})
        if as_json:
            out(json.dumps(document, ensure_ascii=False, default=str))
        else:
            show(result, info=info, book=run.facts.runbook, faults=run.faults)
        if recording is not None:
            show_recording(recording, as_json=as_json)
        _annotate(result, run)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        if interrupt.signal is None:
            raise
        silence("stdout")  # a terminal that was closed is why the run was cancelled
    if notify and result.mode == "real" and "notify" in result.state.facts:
        from gert_core.cli.notifying import tell

        tell(run, environ)
    interrupted = 1 if interrupt.signal is None else interrupt.exit_code  # else another process asked for it
    return exit_code(result, interrupt_code=interrupted, pending=pending_exit_code, fail_on=fail_on)


def show_recording(recording: Recording, *, as_json: bool) -> None:
    """Print where a run was recorded; what prevented it is a warning, whatever the output."""
    if recording.written and not as_json:
        out(f"  recorded: {escape(recording.path)}")
    if recording.known is not None and not as_json:
        out(f"  not recorded: scenario {escape(recording.known)} went this way")
    for warning in recording.warnings:
        err(escape(f"warning: {warning}"))
    if recording.problem is not None:
        err(escape(f"warning: the run was not recorded: {recording.problem}"))


def _last_words(watching: Watcher, run: Run, *, as_json: bool) -> None:
    """Remove what is drawn, and say what to do about a run that did not stop when it was cancelled."""
    watching.close()
    if run.facts.stored is None or as_json:
        return
    from msgspec.structs import replace

    from gert_core.hosting.advice import next_steps_of
    from gert_core.runs.listing import run_info

    err(escape(f"cancelled before run {run.facts.run_id} stopped by itself; its programs were killed"))
    show_next(next_steps_of(replace(run_info(run.facts.stored), live=False)))  # by this process, which ends now
    flush()


def kept_info(stored: StoredRun | None, result: RunResult) -> RunInfo | None:
    """Return a run that is not completed as it is kept, which tells what to do about it; None for one that is not."""
    if result.status is RunStatus.COMPLETED or stored is None:
        return None
    from gert_core.runs.listing import run_info

    return run_info(stored)


def document_of(result: RunResult, info: RunInfo | None) -> dict[str, Any]:
    """Return the document of ``exec --json`` and ``resume --json``."""
    from gert_core.runs.places import located

    if info is None:
        return {**located(result), "next": []}
    from gert_core.hosting.advice import next_steps_of

    return {**located(result), "next": [step.to_json() for step in next_steps_of(info)]}


def _masked(run: Run, document: dict[str, Any]) -> dict[str, Any]:
    """Return a result without secrets: its trace is the one text that is not from the state."""
    if document["trace"] is not None:
        document["trace"] = run.services.masker.mask_text(document["trace"])
    return document


def _annotate(result: RunResult, run: Run) -> None:
    """Show failures where GitHub runs the command beside the lines of the runbook."""
    if os.environ.get("GITHUB_ACTIONS") == "true" and result.failures:
        from gert_core.cli.render.closing import annotate

        annotate(result, run.facts.runbook)


def exit_code(result: RunResult, *, interrupt_code: int, pending: int, fail_on: tuple[str, ...] | None = None) -> int:
    """Return 0 for completed, 1 for failed, 129, 130 or 143 for interrupted, and ``pending`` while it waits for people.

    A completed run whose outcome is among ``fail_on`` (None: what it recorded) gives 4, unless it was only planned.
    """
    if result.status is RunStatus.COMPLETED:
        wanted = result.state.fail_on if fail_on is None else fail_on
        planned = result.outcome is None or result.mode in PLANS
        return _FAIL_ON if not planned and result.outcome and str(result.outcome.category) in wanted else 0
    if result.status in _PENDING:
        return pending
    return interrupt_code if result.status is RunStatus.CANCELLED and not result.state.aborted else 1


__all__ = ["carry_out", "document_of", "exit_code", "kept_info", "show_recording"]
