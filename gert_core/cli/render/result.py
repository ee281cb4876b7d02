"""Show the result of a run to people, just ended or read from its trace."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final

from gert_core.api import RunStatus
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.kit.display import readable_key
from gert_core.runs.again import resume_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import Outcome
    from gert_core.hosting.advice import NextStep
    from gert_core.runs.holds import Hold
    from gert_core.runs.result import RunResult


OUTCOMES: Final = {"needs_rca": ("!", "yellow"), "escalated": ("▲", "red")}
"""The marks of outcomes that people have to do something about."""
PLANS: Final = ("dry-run", "probe")
"""The modes that leave steps out, so that what they come to is only possible."""


def show(result: RunResult, *, faults: Sequence[BaseException] = (), executed: bool = True) -> None:
    """Print a result on stdout; ``executed`` is False for a finished run that was read from its trace."""
    if result.status is RunStatus.COMPLETED:
        _show_outcome(result)
    elif result.status is RunStatus.APPROVAL_PENDING:
        for ticket in result.pending:
            step = readable_key(str(ticket["step_key"]))
            out(escape(f"  {ticket['ticket_id']}  step {step}  risk {ticket['risk_level']}"))
        if result.questions:
            _show_questions(result)
        advice = f" Resume with: {_resume(result)}" if result.state.resumable else ""
        out(f"Approval pending{_mode(result)}.{advice}")
    elif result.status is RunStatus.ANSWER_PENDING:
        _show_questions(result)
        out(f"Answer pending{_mode(result)}. Resume with: {_resume(result)}")
    elif result.status is RunStatus.BLOCKED:
        show_holds(result.run_id, result.state.holds, option=result.option)
        out(f"Blocked{_mode(result)}. When it is unblocked, resume with: {_resume(result)}")
    else:
        _show_failures(result, executed=executed)
    remark = "" if result.place is not None else " (not kept)"
    if not executed:
        remark = f" (finished {result.state.finished}; nothing was executed)"
    out(escape(f"  duration: {time_taken(result.duration, result.waited)}"))
    out(escape(f"  run: {result.run_id}{remark}"))
    if result.place is not None:
        out(escape(f"  trace: {result.place}"))
    if sys.stdout is not None:
        sys.stdout.flush()
    for fault in faults[:1]:
        err(f"  a plugin failed: {type(fault).__name__}; set GERT_DEBUG=1 to see where")


def _resume(result: RunResult) -> str:
    return escape(resume_command(result.run_id, result.state, result.option))


def label(outcome: Outcome) -> str:
    """Return category and code as people read them."""
    return escape(f"{outcome.category} ({outcome.code})" if outcome.code else str(outcome.category))


def _mode(result: RunResult) -> str:
    """Return the mode as the end of the line with the result."""
    return escape(f" [{result.mode}]") if result.mode else ""


def _show_outcome(result: RunResult) -> None:
    """Print how a run came out, or what a dry-run or probe, which left steps out, may come to."""
    from gert_core.cli.render.values import named  # not for lists of runs, which show no values

    outcome = result.outcome
    if outcome is None:
        reached = dict.fromkeys(map(label, result.possible))
        out(f"Possible outcomes: {', '.join(reached) or 'none reached'}{_mode(result)}")
        return
    if result.mode in PLANS:
        out(f"Possible outcome: {label(outcome)}{_mode(result)}")
    else:
        sign, colour = OUTCOMES.get(str(outcome.category), ("✓", "green"))
        out(f"{paint(sign, colour)} Outcome: {label(outcome)}{_mode(result)}")
    for name, value in outcome.meta.items():
        for line in named(f"{escape(name)}:", value, indent="  "):
            out(line)


def _show_questions(result: RunResult) -> None:
    from gert_core.cli.render.questions import show_commands, show_questions

    show_questions(result.questions)
    show_commands(result.run_id, result.questions, option=result.option)


def show_holds(run_id: str, holds: Sequence[Hold], *, option: str) -> None:
    """Print what blocks a run, and the commands that unblock it."""
    for hold in holds:
        who = f"step {readable_key(hold.step_key)} waits for" if hold.step_key is not None else "blocked on"
        out(escape(f"  {who} {hold.key}{f': {hold.reason}' if hold.reason else ''}"))
    for key in dict.fromkeys(hold.key for hold in holds):
        out(escape(f"  unblock with: gert runs unblock {run_id}{option} --key {shlex.quote(key)}"))


def show_next(steps: Sequence[NextStep]) -> None:
    """Print what can be done about a run next, on standard error: the command to take first, then the others."""
    for number, step in enumerate(steps):
        lead = "next" if number == 0 else "  or"
        err(escape(f"  {lead}: {shlex.join(step.command)}{f'  # {step.why}' if len(steps) > 1 else ''}"))


def _show_failures(result: RunResult, *, executed: bool) -> None:
    out(f"{paint('✗', 'red')} Run {result.status}{_mode(result)}")
    for failure in result.failures:
        where = f"step {readable_key(failure.key)}: " if failure.key else ""
        out(escape(f"  {where}{failure.message} ({failure.kind})"))
    if result.state.aborted:
        out("  it was aborted, after its cleanup; nothing is left to resume")
        _show_unknown(_unknown(result))
    elif result.status is RunStatus.CANCELLED:
        out(escape(f"  cancelled by {result.state.result.get('reason')}{_resuming(result)}"))
        if result.state.resumable:
            out(f"  or end it, after its cleanup if there is any: {_resume(result)} --abort")
    elif not executed and any(key in result.state.steps for key in result.state.failing):
        out(f"  run the failed step again with: {_resume(result)} --retry-failed")


def _resuming(result: RunResult) -> str:
    """Return how to resume a cancelled run, with what has to be said about steps whose effect is unknown."""
    if not result.state.resumable:
        return ""
    unknown = _unknown(result)
    _show_unknown(unknown)
    look = "look, then resume" if unknown else "resume"
    return f"; {look} with: {_resume(result)}{reconcile_options(unknown)}"


def _unknown(result: RunResult) -> list[str]:
    """Return the steps of which only a person can find out whether they took effect.

    The trace tells, because the process that executed a run keeps no contracts of its steps.
    """
    from gert_core.api.errors import GertError
    from gert_core.runs.fold import fold
    from gert_core.trace.reader import read

    try:
        kept = result.trace if result.traced else result.stored
        state = fold(read(kept)) if kept is not None else result.state
    except GertError:
        state = result.state
    return [record.key for record in state.unknown_outcomes]


def _show_unknown(keys: list[str]) -> None:
    if keys:
        names = ", ".join(map(readable_key, keys))
        out(escape(f"  cannot determine whether {names} took effect: it writes, is not idempotent and was interrupted"))


def reconcile_options(keys: Sequence[str]) -> str:
    """Return the options that state the results of steps, in quotes: pasted as they are, they choose nothing."""
    import shlex  # only after an interrupt

    return "".join(f" --reconcile {shlex.quote(f'{key}=done|redo|failed')}" for key in keys)


__all__ = ["PLANS", "label", "reconcile_options", "show", "show_holds", "show_next"]
