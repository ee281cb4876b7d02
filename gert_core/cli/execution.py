"""What ``exec`` and ``resume`` share: run, watch for signals, print the result, choose the exit code."""

from __future__ import annotations

import gc
import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from gert_core.api import GertError, RunError, RunStatus, UsageError
from gert_core.cli.console import TerminalConsole
from gert_core.cli.errors import report
from gert_core.cli.interrupt import interrupts
from gert_core.cli.progress import DryProgress, TerminalProgress
from gert_core.cli.terminal import err, out, paint, plain
from gert_core.engine.cancel import Stop
from gert_core.template import to_text
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.engine.run import Run, RunResult

_LAST_CODE: Final = 255


def carry_out(
    begin: Callable[..., Run], *, mode: str, no_input: bool, as_json: bool, pending_exit_code: int = 0
) -> int:
    """Start a run with ``begin(stack, console=, progress=, stop=)``, execute it and report it."""
    if not 0 <= pending_exit_code <= _LAST_CODE:
        raise UsageError(f"--pending-exit-code takes 0 to {_LAST_CODE}, not {pending_exit_code}; nothing was run")
    stop = Stop()
    rehearsal = mode in ("dry-run", "probe")
    progress = DryProgress(sys.stderr if as_json else sys.stdout) if rehearsal else TerminalProgress()
    console = TerminalConsole(no_input=no_input, quiet=progress.hold)
    with ExitStack() as stack, interrupts(stop) as interrupt:
        stack.callback(stop.close)
        try:
            run = begin(stack, console=console, progress=progress, stop=stop)
        except GertError:
            if interrupt.signal is None:
                raise
            report(RunError(f"cancelled by {stop.reason}; nothing was run", kind="cancelled"), as_json=as_json)
            return interrupt.exit_code
        # The document stays until the end: the collector need not look at it again and again.
        gc.freeze()
        progress.mask = run.masker.mask_text
        if isinstance(progress, DryProgress):
            progress.begin(run)
        interrupt.run = run
        try:
            result = run.execute()
        except Exception as error:
            # Whoever reports it knows no secrets: hand over how this run hides its own.
            error.mask = run.masker.mask_text  # type: ignore[attr-defined]
            raise
        finally:
            progress.close()
        if as_json:
            document = run.masker.mask(result.to_json())
            out(json.dumps(document, ensure_ascii=False, default=str))
        else:
            show(result, run, mode=mode)
    if run.directory is not None and result.status is RunStatus.APPROVAL_PENDING:
        run.directory.state()
    return exit_code(result, interrupt_code=interrupt.exit_code, pending=pending_exit_code)


def exit_code(result: RunResult, *, interrupt_code: int, pending: int) -> int:
    """0 done, 1 failed, 130/143 interrupted; pending as asked for."""
    if result.status is RunStatus.COMPLETED:
        return 0
    if result.status is RunStatus.APPROVAL_PENDING:
        return pending
    return interrupt_code if result.status is RunStatus.CANCELLED else 1


def show(result: RunResult, run: Run, *, mode: str) -> None:
    """The human result on stdout."""

    def mask(text: str) -> str:
        return plain(run.masker.mask_text(text))

    if result.outcome is not None:
        outcome = result.outcome
        code = f" ({outcome.code})" if outcome.code else ""
        out(paint("✓", "green") + mask(f" Outcome: {outcome.category}{code}"))
        for name, value in outcome.meta.items():
            out(mask(f"  {name}: {to_text(value)}"))
    elif mode in ("dry-run", "probe") and result.status is RunStatus.COMPLETED:
        seen = dict.fromkeys(f"{o.category} ({o.code})" if o.code else str(o.category) for o in result.possible)
        out(mask(f"Possible outcomes: {', '.join(seen) or 'none reached'}"))
    elif result.status is RunStatus.APPROVAL_PENDING:
        for ticket in result.pending:
            out(f"  {ticket['ticket_id']}  step {ticket['step_key']}  risk {ticket['risk_level']}")
        out(f"Approval pending. Resume with: gert resume --run {result.run_id}")
    else:
        out(f"{paint('✗', 'red')} Run {result.status}")
        for failure in result.failures:
            where = f"step {failure.key}: " if failure.key else ""
            out(mask(f"  {where}{failure.message} ({failure.kind})"))
        if result.status is RunStatus.CANCELLED:
            out(f"  cancelled by {run.stop.reason}; go on with: gert resume --run {result.run_id}")
    out(f"  duration: {format_duration(result.duration)}")
    out(f"  run: {result.run_id}")
    out(f"  trace: {result.trace}")
    if sys.stdout is not None:
        sys.stdout.flush()
    for fault in run.faults[:1]:
        err(f"  a plugin failed: {type(fault).__name__}; set GERT_DEBUG=1 to see where")


__all__ = ["carry_out", "exit_code", "show"]
