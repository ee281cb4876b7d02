"""``gert runs prune`` and ``gert runs cleanup``: delete old runs, and end those that were left behind."""

from __future__ import annotations

import json as json_
import sys
from contextlib import ExitStack, suppress
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, UsageError
from gert_core.api.results import RunStatus
from gert_core.api.store_records import RunQuery
from gert_core.cli.commands.runs_list import words
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.session import project_here
from gert_core.cli.stores import store_here, store_of, store_option
from gert_core.kit.run_rows import INTERRUPTED, MOVED
from gert_core.kit.times import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api.stores import RunStore

_FINISHED: Final = (*map(str, (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.ERROR, RunStatus.CANCELLED)), MOVED)
"""The statuses of runs that are over in this store."""


def prune(
    ctx: typer.Context,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="30d", help="Runs that ended as long ago, or before a moment.")
    ] = None,
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=0, help="Keep the newest N of them.")] = 0,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="A,B", help="Only completed, failed, error, cancelled or moved runs."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be deleted.")] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Delete runs that ended or were moved, with everything they kept; a trace that `--trace` put elsewhere stays.

    Runs that are executed, interrupted or waiting are never deleted. Prints the ids of those that are.
    """
    if older_than is None:
        raise UsageError("--older-than is missing", hint="say which runs to delete, for example --older-than 30d")
    kept = store_here(ctx.obj, store)
    before = moment(older_than, what="--older-than")
    wanted = words(status, _FINISHED, what="statuses of runs that ended") if status is not None else _FINISHED
    rows = islice(kept.runs(RunQuery(status=wanted)), min(keep, sys.maxsize), None)
    ids = [row.run_id for row in rows if row.finished is not None and row.finished < before]
    done: list[str] = []
    skipped: list[RunError] = []
    for run_id in ids:
        try:
            if dry_run or _delete(kept, run_id, before=before, statuses=wanted):
                done.append(run_id)
        except RunError as error:
            skipped.append(error)
    if not dry_run:
        kept.tidy()
    word = "would be deleted" if dry_run else "deleted"
    return _report("pruned", done, skipped, word=word, as_json=json, more={"dry_run": dry_run})


def cleanup(
    ctx: typer.Context,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="2h", help="Runs without an event for as long; default: 5m to 1h."),
    ] = None,
    actor: Annotated[
        str | None,
        typer.Option("--as", metavar="ID", help="The actor recorded in the trace; default: the current user."),
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """End runs that were interrupted and that nothing executes, as cancelled for the reason `stale`.

    They can still be resumed. Runs that are executed or waiting are left alone. Prints the ids of those that ended.
    """
    from gert_core.cli.session import registry_for
    from gert_core.engine.run import default_actor
    from gert_core.engine.stale import NotStale, end_stale

    age = None if older_than is None else _seconds(older_than)
    project = project_here()
    kept = store_of(project, ctx.obj, store)
    ids = [row.run_id for row in kept.runs(RunQuery(status=(INTERRUPTED,)))]
    done: list[str] = []
    skipped: list[RunError] = []
    if ids:
        environ = ctx.obj.environ
        registry = registry_for(project, ctx.obj, executing=True)
        by = default_actor(environ) if actor is None else actor
        for run_id in ids:
            try:
                with suppress(NotStale):
                    end_stale(run_id, store=kept, age=age, actor=by, registry=registry, environ=environ)
                    done.append(run_id)
            except RunError as error:
                skipped.append(error)
    return _report("ended", done, skipped, word="ended as stale", as_json=json)


def _delete(store: RunStore, run_id: str, *, before: str, statuses: Sequence[str]) -> bool:
    """Delete a run if it is still over once it is held; its trace decides, not the index."""
    from gert_core.engine.holding import hold
    from gert_core.runs.listing import run_info
    from gert_core.runs.rows import row_of

    with store.open(run_id) as run, ExitStack() as stack:
        run.check_owner()
        try:
            hold(run, stack)
        except RunError as error:
            if error.kind == ErrorKind.RUN_LOCKED:
                return False
            raise
        row = row_of(run_info(run))
        if row.status not in statuses or row.finished is None or row.finished >= before:
            return False
        run.remove()
    return True


def _seconds(text: str) -> float:
    from gert_core.kit.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from None


def _report(
    name: str,
    done: list[str],
    skipped: list[RunError],
    *,
    word: str,
    as_json: bool,
    more: dict[str, object] | None = None,
) -> int:
    """Print what was done; return 1 when something could not be."""
    if as_json:
        faults = [{"kind": error.kind, "message": error.message} for error in skipped]
        out(json_.dumps({name: done, "skipped": faults, **(more or {})}, ensure_ascii=False))
        return 1 if skipped else 0
    for run_id in done:
        out(run_id)
    err(f"{len(done)} run{'' if len(done) == 1 else 's'} {word}")
    for error in skipped:
        err(f"skipped: {escape(error.message)} ({error.kind})")
    return 1 if skipped else 0


__all__ = ["cleanup", "prune"]
