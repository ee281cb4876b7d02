"""``gert runs progress``: print how far a run is, once or while it goes on."""

from __future__ import annotations

import json as json_
import sys
from typing import TYPE_CHECKING, Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import escape, out
from gert_core.cli.stores import store_here, store_option

if TYPE_CHECKING:
    from gert_core.runs.lifecycle.progress import RunProgress


def progress(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print each new value until the run stops.")] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: one document, with --follow one per line.")] = False,
) -> int:
    """Print how far a run is: percent, what it does now, and which stages are completed."""
    from gert_core.api import ErrorKind, RunError
    from gert_core.hosting.asking import progress as ask
    from gert_core.hosting.asking import status, stream_progress

    kept = store_here(ctx.obj, store)
    if not follow:
        _show(ask(run_id, store=kept), as_json=json)
        return 0
    last = None
    for last in stream_progress(run_id, store=kept, follow=True):
        _show(last, as_json=json)
        if sys.stdout is not None:
            sys.stdout.flush()
    stands = status(run_id, store=kept)
    if last is None or stands.status == "interrupted":
        raise RunError(
            f"run {stands.run_id} was interrupted: no process executes it",
            kind=ErrorKind.RUN_INTERRUPTED,
            hint=f"gert resume --run {stands.run_id}{kept.option}",
        )
    return 0


def _show(value: RunProgress, *, as_json: bool) -> None:
    if as_json:
        out(json_.dumps(value.to_json(), ensure_ascii=False))
        return
    stage = f"  {value.current_stage}" if value.current_stage is not None else ""
    done = f"  (completed: {', '.join(value.completed_stages)})" if value.completed_stages else ""
    out(escape(f"{value.status} {value.percent}%{stage}{done}"))


__all__ = ["progress"]
