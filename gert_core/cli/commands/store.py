"""``gert store copy`` and ``gert store upgrade``: bring runs to another store, and a store to this version."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated

from gert_core.api.errors import RunError, UsageError
from gert_core.cli.commands.runs_export import report_changed
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.session import project_here
from gert_core.cli.stores import store_here, store_of, store_option

if TYPE_CHECKING:
    from gert_core.api import RunStore
    from gert_core.engine.copying import Copied


def copy(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FROM", help="The store that the runs are in.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The store that they are copied to.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Only this run: its id, its beginning, or `latest`.")
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Move them: also runs that are not over, which go on in the other store.")
    ] = False,
    no_output: Annotated[
        bool, typer.Option("--no-output", help="Leave out what tools wrote while they were running.")
    ] = False,
    actor: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who moves them; default: the current user.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Copy runs to another store: exact lines, files and claims, with the hash chain checked on the way.

    A run is there as a whole or not at all, and a copy that failed can be repeated. Runs that are not over are refused
    without `--move`.
    """
    from gert_core.engine.known_secrets import refuse_actor
    from gert_core.engine.run import default_actor
    from gert_core.runs.find import find_run

    project = project_here()
    here, there = (store_of(project, ctx.obj, url) for url in (source, target))
    if here.url == there.url:
        raise UsageError(f"{here.url} is both stores", hint="name two stores: gert store copy FROM TO")
    ids = [find_run(here, run).run_id] if run is not None else list(here.run_ids())
    by = default_actor(ctx.obj.environ) if actor is None else actor
    done: list[Copied] = []
    refused: list[RunError] = []
    for run_id in reversed(ids):  # so that those of one second keep their order
        try:
            if move:
                with here.open(run_id) as found:
                    refuse_actor(found, by, ctx.obj.environ)
            done.append(_one(here, run_id, there, move=move, by=by, output=not no_output))
        except RunError as error:
            if len(ids) == 1 or error.exit_code != 1:  # what concerns the store concerns all of them
                raise
            refused.append(error)
        else:
            if not json:
                _say(done[-1], there)
    if json:
        faults = [{"kind": fault.kind, "message": fault.message} for fault in refused]
        out(json_.dumps({"runs": [one.to_json() for one in done], "refused": faults}, ensure_ascii=False))
    else:
        for fault in refused:
            err(escape(f"left out: {fault.message} ({fault.kind})"))
        if not ids:
            err(escape(f"no runs found in {here.place}"))
    changed = sum(report_changed(one.run_id, one.changed) for one in done)
    return 1 if refused or changed else 0


def _one(here: RunStore, run_id: str, there: RunStore, *, move: bool, by: str, output: bool) -> Copied:
    from gert_core.engine.copying import copy_run, move_run

    if move:
        return move_run(here, run_id, there, by=by, output=output)
    return copy_run(here, run_id, there, output=output)


def _say(one: Copied, there: RunStore) -> None:
    if one.what == "there":
        out(escape(f"{one.run_id} is in {there.url} already"))
        return
    files = f"{one.blobs} file{'' if one.blobs == 1 else 's'}"
    out(escape(f"{one.run_id} {one.what} to {there.url}: {one.events} events, {files}"))
    if one.torn:
        err(f"left out: {one.torn} bytes behind event {one.events}, which a crash left and which are not an event")


def upgrade(
    ctx: typer.Context,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Bring the tables of a store to the version that this gert needs; a store that has it stays as it is."""
    found = store_here(ctx.obj, store)
    info = found.upgrade()
    if json:
        document = {"store": found.url, "backend": info.backend, "schema_version": info.schema_version}
        out(json_.dumps(document, ensure_ascii=False))
    else:
        out(escape(f"{found.url} has version {info.schema_version} ({info.backend})"))
    return 0


__all__ = ["copy", "upgrade"]
