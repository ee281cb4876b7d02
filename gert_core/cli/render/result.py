"""The result of a run that just ended, as people read it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gert_core.api import RunStatus
from gert_core.cli.render.terminal import err, out, paint, plain
from gert_core.template import to_text
from gert_core.values import format_duration

if TYPE_CHECKING:
    from gert_core.engine.run import Run, RunResult


def show(result: RunResult, run: Run, *, mode: str) -> None:
    """Print a result for people on stdout."""

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


__all__ = ["show"]
