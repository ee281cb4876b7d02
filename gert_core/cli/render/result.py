"""Show the result of a run to people, just ended or read from its trace."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import RunStatus
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.render.totals import approvals_line, steps_line
from gert_core.kit.display import readable_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gert_core.api import Outcome, StoredRun
    from gert_core.approvals.checks import Approvals
    from gert_core.documents.tree import Runbook
    from gert_core.hosting.advice import NextStep
    from gert_core.runs.holds import Hold
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.result import RunResult


OUTCOMES: Final = {"needs_rca": ("!", "yellow"), "escalated": ("▲", "red")}
"""The marks of outcomes that people have to do something about."""
PLANS: Final = ("dry-run", "probe")
"""The modes that leave steps out, so that what they come to is only possible."""
_WAITING: Final = {
    RunStatus.APPROVAL_PENDING: "Approval pending",
    RunStatus.ANSWER_PENDING: "Answer pending",
    RunStatus.BLOCKED: "Blocked",
}


def show(
    result: RunResult,
    *,
    info: RunInfo | None = None,
    book: Runbook | None = None,
    faults: Sequence[BaseException] = (),
    executed: bool = True,
) -> None:
    """Print a result on stdout; ``executed`` is False for a finished run that was read from its trace.

    ``info`` is the run as it is kept, which tells what to do about one that is not completed; ``book`` its runbook.
    """
    if result.status is RunStatus.COMPLETED or result.possible:  # a dry-run that fails may have come by an end
        _show_outcome(result)
    elif result.status in _WAITING:
        _show_waiting(result)
        out(f"{_WAITING[result.status]}{mode_of(result)}")
    _show_facts(result, executed=executed)
    if result.status is not RunStatus.COMPLETED:
        from gert_core.hosting.advice import next_steps_of

        if result.status not in _WAITING:
            from gert_core.cli.render.closing import show_failures

            show_failures(result, info, book)
        if info is not None:
            show_next(next_steps_of(info), to=out)
            _show_more(result, info)
    if sys.stdout is not None:
        sys.stdout.flush()
    for fault in faults[:1]:
        err(f"  a plugin failed: {type(fault).__name__}; set GERT_DEBUG=1 to see where")


def label(outcome: Outcome) -> str:
    """Return category and code as people read them."""
    return escape(f"{outcome.category} ({outcome.code})" if outcome.code else str(outcome.category))


def mode_of(result: RunResult) -> str:
    """Return the mode as the end of the line with the result."""
    return escape(f" [{result.mode}]") if result.mode else ""


def _show_outcome(result: RunResult) -> None:
    """Print how a run came out, or what a dry-run or probe, which left steps out, may come to."""
    from gert_core.cli.render.values import named  # not for lists of runs, which show no values

    outcome = result.outcome
    if outcome is None:
        reached = dict.fromkeys(map(label, result.possible))
        out(f"Possible outcomes: {', '.join(reached) or 'none reached'}{mode_of(result)}")
        return
    if result.mode in PLANS:
        out(f"Possible outcome: {label(outcome)}{mode_of(result)}")
    else:
        sign, colour = OUTCOMES.get(str(outcome.category), ("✓", "green"))
        out(f"{paint(sign, colour)} Outcome: {label(outcome)}{mode_of(result)}")
    for name, value in outcome.meta.items():
        for line in named(f"{escape(name)}:", value, indent="  "):
            out(line)


def _show_waiting(result: RunResult) -> None:
    """Print what a run waits for."""
    for ticket in result.pending:
        step = readable_key(str(ticket["step_key"]))
        out(escape(f"  {ticket['ticket_id']}  step {step}  risk {ticket['risk_level']}"))
    if result.questions:
        from gert_core.cli.render.questions import show_questions

        show_questions(result.questions)
    if result.status is RunStatus.BLOCKED:
        show_holds(result.state.holds)


def _show_facts(result: RunResult, *, executed: bool) -> None:
    """Print how long the run took, where it is kept, and what became of its steps and approvals."""
    remark = "" if result.place is not None else " (not kept)"
    if not executed:
        remark = f" (finished {result.state.finished}; nothing was executed)"
    out(escape(f"  duration: {time_taken(result.duration, result.waited)}"))
    out(escape(f"  run: {result.run_id}{remark}"))
    if result.place is not None:
        out(escape(f"  trace: {result.place}"))
    if result.mode not in PLANS:
        for line in (steps_line(result.state), approvals_line(result.state)):
            if line:
                out(escape(line))


def show_holds(holds: Sequence[Hold]) -> None:
    """Print what blocks a run."""
    for hold in holds:
        who = f"step {readable_key(hold.step_key)} waits for" if hold.step_key is not None else "blocked on"
        out(escape(f"  {who} {hold.key}{f': {hold.reason}' if hold.reason else ''}"))


def show_next(steps: Sequence[NextStep], *, to: Callable[[str], None] = err) -> None:
    """Print what can be done about a run next: the command to take first, then the others."""
    from gert_core.hosting.closing import next_lines

    for line in next_lines(steps):
        to(escape(line))


def show_following(run: StoredRun, *, known: Callable[[], Approvals] | None = None) -> None:
    """Print what to do about a run next, after a command changed what it waits for.

    ``known`` gives what answers to its tickets are checked against, where that is known.
    """
    info = _info(run)
    if info.live:
        out(escape(f"Run {info.run_id} is being executed, and goes on by itself."))
    show_next(_following(info, known), to=out)


def following(run: StoredRun, *, known: Callable[[], Approvals] | None = None) -> list[dict[str, Any]]:
    """Return the same as ``next`` of a JSON document."""
    return [step.to_json() for step in _following(_info(run), known)]


def _info(run: StoredRun) -> RunInfo:
    from gert_core.runs.listing import run_info

    return run_info(run)


def _following(info: RunInfo, known: Callable[[], Approvals] | None) -> list[NextStep]:
    from gert_core.hosting.advice import NextStep, next_steps_of

    if info.state is None:
        words = ("gert", "runs", "show", info.run_id, *shlex.split(info.run.option))
        return [NextStep(why="see why the run cannot be read", command=words)]
    return next_steps_of(info, known=known)


def _show_more(result: RunResult, info: RunInfo) -> None:
    """Print the command that shows everything about the step that failed first."""
    key = next((failure.key for failure in result.failures if failure.key), None)
    if key is not None:
        out(escape(f"  more: gert runs show {result.run_id} --step {shlex.quote(key)}{info.run.option}"))


__all__ = ["PLANS", "following", "label", "mode_of", "show", "show_following", "show_holds", "show_next"]
