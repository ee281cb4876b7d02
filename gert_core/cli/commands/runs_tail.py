"""``gert runs tail``: print the events of a run, and those that are still to come."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.stores import store_here, store_option
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.stream import follow_lines
from gert_core.runs.lifecycle.words import INTERRUPTED
from gert_core.runs.listing import run_info

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.api.events import TraceEvent


def tail(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    since_seq: Annotated[int, typer.Option("--since-seq", metavar="N", min=0, help="Only events after number N.")] = 0,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Only the last N.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with events as they are written, until the run ends.")
    ] = False,
    through_suspend: Annotated[
        bool, typer.Option("--through-suspend", help="With --follow: go on when the run waits for people.")
    ] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the lines of the trace.")] = False,
) -> int:
    """Print the events of a run: number, time, type and step key, between tabs.

    With `--follow` it ends at `run_complete`, at `run_suspended`, and with exit code 1 when nothing has executed the
    run for two seconds.
    """
    run = find_run(store_here(ctx.obj, store), run_id)
    found: Iterable[tuple[TraceEvent, bytes]] = follow_lines(
        run, since_seq=since_seq, follow=follow and limit is None, through_suspend=through_suspend
    )
    seq = since_seq
    for event, line in found if limit is None else deque(found, maxlen=min(limit, sys.maxsize)):
        _print(event, line, as_json=json, flush=follow)
        seq = event.seq
    if follow and limit is not None:  # what there was is known before what comes is waited for
        for event, line in follow_lines(run, since_seq=seq, follow=True, through_suspend=through_suspend):
            _print(event, line, as_json=json, flush=True)
    if not follow or run_info(run).status != INTERRUPTED:
        return 0
    err(f"run {run.run_id} is interrupted: nothing executes it")
    err(escape(f"  next: gert runs show {run.run_id}{run.option}"))
    return 1


def _print(event: TraceEvent, line: bytes, *, as_json: bool, flush: bool) -> None:
    if as_json:
        out(line.decode("utf-8", "replace"))
    else:
        out("\t".join((str(event.seq), escape(event.timestamp), escape(event.type), escape(event.step_key or ""))))
    if flush and sys.stdout is not None:
        sys.stdout.flush()


__all__ = ["tail"]
