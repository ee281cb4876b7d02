"""``gert runs show`` and ``gert runs artifacts``: show the state of a run, and what its steps kept."""

from __future__ import annotations

import json as json_
import sys
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.cli.lazy import typer
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.questions import show_questions
from gert_core.cli.render.result import label, show_holds, show_next
from gert_core.cli.render.runs import ago, colour
from gert_core.cli.render.step import describe_step, step_document, step_label
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.render.timeline import detail_lines, facts_lines, failure_lines, fatal_keys, timeline
from gert_core.cli.render.values import one_line
from gert_core.cli.stores import store_here, store_option
from gert_core.hosting.advice import next_steps_of
from gert_core.kit.display import readable_key, readable_time
from gert_core.runs.answers import answered
from gert_core.runs.document import run_document
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.stream import follow_events
from gert_core.runs.lifecycle.words import INTERRUPTED
from gert_core.runs.listing import run_info
from gert_core.runs.result import RunResult, failed_by_itself, outcome_of

if TYPE_CHECKING:
    from gert_core.api import StoredRun
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState

_EXPLANATIONS: Final = 1000
"""The number of explanations that are remembered, so that each is given once."""


def show(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    step: Annotated[
        str | None, typer.Option("--step", metavar="KEY", help="Only this step: its id or its key, and what is below.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="First show what happens until the run ends; exit as the run does.")
    ] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show one run: its steps, results, pending approvals and where it would resume.

    With `--follow` events are printed as they come (with `--json` they are only waited for), and the exit code is that
    of the run: 0, 1 when it failed or nothing executes it, 4 by `--fail-on`.
    """
    run = find_run(store_here(ctx.obj, store), run_id)
    if follow:
        _follow(run, step, quiet=json)
    shown = _show(run_info(run), step, json=json)
    return _code(run_info(run)) if follow and shown == 0 else shown


def _follow(run: StoredRun, step: str | None, *, quiet: bool) -> None:
    """Print what happens in a run until it ends, waits for people, or nothing executes it any more."""
    lines = timeline(follow_events(run, follow=True), step=step)
    for line in lines:
        if not quiet:
            out(line)
            if sys.stdout is not None:
                sys.stdout.flush()
    if not quiet:
        out()


def _code(info: RunInfo) -> int:
    from gert_core.cli.execution import exit_code

    if info.state is None or info.status == INTERRUPTED:
        return 1
    return exit_code(RunResult(state=info.state, trace=None), interrupt_code=1, pending=0)


def _show(info: RunInfo, step: str | None, *, json: bool) -> int:
    if step is not None and info.state is not None:
        if json:
            out(json_.dumps(step_document(info, step), ensure_ascii=False))
        else:
            describe_step(info, step)
        return 0
    if json:
        steps = [step.to_json() for step in next_steps_of(info)]
        out(json_.dumps({**run_document(info), "next": steps}, ensure_ascii=False))
    else:
        _describe(info)
    return 0 if info.problem is None else 1


def artifacts(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List what the steps of a run kept: files copied into it, and values."""
    info = run_info(find_run(store_here(ctx.obj, store), run_id))
    found = info.state.artifacts if info.state else {}
    if json:
        head = {"run_id": info.run_id, "mode": info.state.mode if info.state else None}
        out(json_.dumps({**head, "artifacts": found}, ensure_ascii=False))
        return 0 if info.state else 1
    for key, told in found.items():
        out(f"{escape(key)}  {escape(json_.dumps(told.get('value'), ensure_ascii=False))}")
    if not found:
        err(escape(info.problem) if info.state is None else "the run has no artifacts")
    return 0 if info.state else 1


def _describe(info: RunInfo) -> None:
    state = info.state
    out(paint(info.run_id, "bold"))
    if state is None or info.problem is not None:
        out(f"  {paint(escape(info.problem), 'red')}")
        return
    outcome = f": {_outcome(state)}" if state.outcome else ""
    if info.moved is not None:
        outcome = escape(f" to {info.moved.to}" if info.moved.done else f", being moved to {info.moved.to}")
    out(f"  runbook:  {escape(state.runbook)}")
    out(f"  mode:     {escape(state.mode or 'unknown')}")
    out(f"  status:   {paint(escape(info.status), colour(info.status))}{outcome}")
    if state.facts.get("actor"):
        out(f"  actor:    {escape(state.facts['actor'])}")
    out(f"  started:  {escape(state.started)} ({ago(state.started)} ago)")
    if state.duration:
        out(f"  duration: {escape(time_taken(state.duration, state.waited))}")
    if state.facts.get("inputs"):
        for line in facts_lines("inputs:  ", state.facts["inputs"]):
            out(f"  {line}")
    out(f"  trace:    {escape(info.place)}")
    if state.steps:
        out("  steps:")
    _describe_steps(info, state)
    _describe_warnings(state)
    for key, told in state.artifacts.items():
        out(f"  artifact {escape(key)}: {escape(json_.dumps(told.get('value'), ensure_ascii=False))}")
    for ticket in state.pending:
        expires = f", expires {readable_time(str(ticket['expires_at']))}" if ticket.get("expires_at") else ""
        step = readable_key(str(ticket["step_key"]))
        out(escape(f"  waits for approval {ticket['ticket_id']} of step {step}{expires}"))
    _describe_questions(info, state)
    if state.holds and not RunResult(state=state, trace=None).finished:
        show_holds(state.holds)
    show_next(next_steps_of(info))


def _describe_steps(info: RunInfo, state: RunState) -> None:
    """Print a line per step; a failure after which the run continued is explained once."""
    fatal = fatal_keys(state)
    explained: set[tuple[object, ...]] = set()
    for record in state.steps.values():
        continued = record.failed and fatal is not None and record.key not in fatal
        name = info.step_status(record)
        style = "yellow" if continued else colour(name)
        status = paint(escape(name), style) + (", continued" if continued else "")
        duration = f" {escape(time_taken(record.duration, record.waited))}" if record.duration else ""
        attempts = f", {record.attempts} attempts" if record.attempts > 1 else ""
        out(f"    {escape(step_label(record))}: {status}{duration}{attempts}")
        if record.description:
            out(f"      {escape(one_line(record.description))}")
        if not record.failed:
            continue
        if record.container and not failed_by_itself(record.key, record.failure):  # the steps in it tell why
            for line in detail_lines(record.detail or {}):
                out(f"      {line}")
            continue
        failure = record.failure or {}
        known = (record.step_id, failure.get("kind"), failure.get("message"))
        if continued and known in explained:
            continue
        if len(explained) < _EXPLANATIONS:
            explained.add(known)
        for line in failure_lines(record.failure, record.detail or {}, colour=style):
            out(f"      {line}")


def _describe_warnings(state: RunState) -> None:
    """Print what steps did not keep to of their contracts."""
    for told in state.warnings:
        step = readable_key(str(told["step_key"]))
        out(f"  {paint('warning', 'yellow')}: step {escape(step)}: {escape(told['message'])} ({escape(told['kind'])})")
    if more := state.violations - len(state.warnings):
        out(f"  {paint('warning', 'yellow')}: {more} more like these in the trace")


def _describe_questions(info: RunInfo, state: RunState) -> None:
    """Print what people have not answered; a run in progress asks by itself."""
    asked = RunResult(state=state, trace=None).questions
    if not asked or info.live:
        return
    show_questions(asked)
    for answer in answered(info.run, asked).values():
        out(escape(f"    {answer.name} of step {readable_key(answer.step_key)} was answered by {answer.by}"))


def _outcome(state: RunState) -> str:
    outcome = outcome_of(state)
    return label(outcome) if outcome is not None else ""


__all__ = ["artifacts", "show"]
