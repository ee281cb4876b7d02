"""Execute a run for ``exec`` and ``resume``: run, watch for signals, print the result, choose the exit code."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, GertError, RunError, RunStatus, UsageError
from gert_core.cli.aside import only_results
from gert_core.cli.errors import report
from gert_core.cli.interrupt import interrupts
from gert_core.cli.lean import restore
from gert_core.cli.log import mask_log
from gert_core.cli.render.console import TerminalConsole
from gert_core.cli.render.progress import DryProgress, TerminalProgress
from gert_core.cli.render.result import PLANS, show
from gert_core.cli.render.terminal import out, silence
from gert_core.engine.cancel import Stop
from gert_core.plugin.printing import real_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import StoredRun
    from gert_core.engine.run import Run
    from gert_core.runs.result import RunResult

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
    pending_exit_code: int = 0,
    verbose: bool = False,
    fail_on: tuple[str, ...] | None = None,
) -> int:
    """Start a run with ``begin(stack, console=, progress=, stop=, environ=)``, execute it and report it."""
    if not 0 <= pending_exit_code <= _LAST_CODE:
        raise UsageError(f"--pending-exit-code takes 0 to {_LAST_CODE}, not {pending_exit_code}; nothing was run")
    stop = Stop()
    planned = mode in PLANS
    progress = (
        DryProgress(sys.stderr if as_json else real_stdout(), verbose=True)
        if planned
        else TerminalProgress(verbose=verbose)
    )
    aside = as_json or not planned  # a plan for people is printed while it is made
    console = TerminalConsole(no_input=no_input, quiet=progress.hold)
    with ExitStack() as stack, interrupts(stop) as interrupt:
        stack.callback(stop.close)
        try:
            with only_results(descriptor=aside):
                run = begin(stack, console=console, progress=progress, stop=stop, environ=environ)
        except GertError:
            if interrupt.signal is None:
                raise
            report(RunError(f"cancelled by {stop.reason}; nothing was run", kind=ErrorKind.CANCELLED), as_json=as_json)
            return interrupt.exit_code
        restore(environ)
        progress.mask = run.services.masker.mask_text
        mask_log(run.services.masker.mask_text)
        if isinstance(progress, DryProgress):
            progress.begin(run.facts.secrets.present(run.facts.secrets.runbook))
        interrupt.run = run
        try:
            with only_results(descriptor=aside):
                result = run.execute()
        except Exception as error:
            # The code that reports it does not know the secrets of this run: hand over how to mask them.
            error.mask = run.services.masker.mask_text  # type: ignore[attr-defined]
            raise
        finally:
            progress.close()
    if run.facts.stored is not None and result.status in _PENDING:
        from gert_core.runs.cache import load_state

        with suppress(GertError, OSError):  # a cache; what is wrong with it concerns the next command
            load_state(run.facts.stored)
    try:
        _show(run, result, as_json=as_json)
    except OSError:
        if interrupt.signal is None:
            raise
        silence("stdout")  # a terminal that was closed is why the run was cancelled
    interrupted = 1 if interrupt.signal is None else interrupt.exit_code  # else another process asked for it
    return exit_code(result, interrupt_code=interrupted, pending=pending_exit_code, fail_on=fail_on)


def _show(run: Run, result: RunResult, *, as_json: bool) -> None:
    """Print the result, once everything that could still fail is over: it is the only document on standard output."""
    if as_json:
        document = {**result.to_json(), "next": next_of(run.facts.stored, result)}
        # The one text that is not from the state.
        if document["trace"] is not None:
            document["trace"] = run.services.masker.mask_text(document["trace"])
        out(json.dumps(document, ensure_ascii=False, default=str))
    else:
        show(result, faults=run.faults)
    if sys.stdout is not None:
        sys.stdout.flush()


def next_of(stored: StoredRun | None, result: RunResult) -> list[dict[str, object]]:
    """Return what can be done about a run next, as results list it."""
    if result.status is RunStatus.COMPLETED or stored is None:
        return []
    from gert_core.hosting.advice import next_steps_of
    from gert_core.runs.listing import run_info

    return [step.to_json() for step in next_steps_of(run_info(stored))]


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


__all__ = ["carry_out", "exit_code", "next_of"]
