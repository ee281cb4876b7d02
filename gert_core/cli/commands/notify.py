"""``gert notify``: list what runs owe people, deliver what is due, and drop what is not to be told."""

from __future__ import annotations

import json as json_
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.cli.lazy import typer
from gert_core.cli.notifying import report
from gert_core.cli.render.table import table
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.session import project_here, registry_for
from gert_core.cli.stores import store_here, store_of, store_option
from gert_core.kit.display import readable_time

if TYPE_CHECKING:
    from gert_core.hosting.flushing import NotificationEntry

_HEADER: Final = ("ID", "STATUS", "EVENT", "NOTIFIER", "TRIES", "NEXT", "RUN")
_SHOWN: Final = 12
"""How much of an id is shown; `gert notify drop` takes its beginning."""


def list_(
    ctx: typer.Context,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only of this run: its id, its beginning, or `latest`.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what was delivered.")] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List what runs owe people and was not delivered: not tried yet, failed, refused, or given up (dead)."""
    from gert_core.hosting.flushing import entries

    problems: list[str] = []
    found = [
        one
        for one in entries(store_here(ctx.obj, store), run, problem=problems.append)
        if everything or one.status != "delivered"
    ]
    if json:
        document = {"notifications": [one.to_json() for one in found], "problems": problems}
        out(json_.dumps(document, ensure_ascii=False))
        return 0
    if not found:
        err("nothing is owed")
    else:
        now = datetime.now(UTC)
        for line in table(_HEADER, [_row(one, now) for one in found], column=1, colour=_colour):
            out(line)
        for one in found:
            if one.rounds.last is not None and one.rounds.last.error:
                out(escape(f"  {one.owed.id[:_SHOWN]}: {one.rounds.last.error}"))
    for problem in problems:
        err(escape(f"warning: {problem}"))
    return 0


def flush(
    ctx: typer.Context,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only of this run: its id, its beginning, or `latest`.")
    ] = None,
    now: Annotated[
        bool, typer.Option("--now", help="Also what is not due yet; of one RUN also what was refused or given up.")
    ] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Deliver what runs owe people and is due, one try each; for cron.

    What fails is tried again after a minute, two, four ... up to an hour, for 72 hours.
    """
    from gert_core.hosting import flushing
    from gert_core.stores.choose import with_address

    project = project_here()
    registry = registry_for(project, ctx.obj)
    kept = store_of(project, ctx.obj, store, registry)
    problems: list[str] = []
    failed = False
    tried = []
    for told in flushing.flush(
        kept,
        registry=registry,
        environ=with_address(ctx.obj.environ, store),
        run_id=run,
        again=now,
        problem=problems.append,
    ):
        if told.sent is None:
            continue  # another process delivers it
        tried.append(told.to_json())
        failed = failed or told.sent.status != "delivered"
        if not json:
            if told.sent.status == "delivered":
                out(escape(f"{paint('✓', 'green')} {told.sent.notifier} told of {told.owed.event}  {told.run_id}"))
            report(told, option=kept.option)
    if json:
        out(json_.dumps({"tried": tried, "problems": problems}, ensure_ascii=False))
    elif not tried:
        err("nothing is due")
    for problem in problems:
        err(escape(f"warning: {problem}"))
    return 1 if failed else 0


def drop(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID|RUN", help="A notification by its id, or all of a run.")],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="WHO", help="Who drops it; default: the current user.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Drop what a run owes people: it is not tried any more, and the run keeps who decided that."""
    from gert_core.engine.run import default_actor
    from gert_core.hosting import flushing

    by = default_actor(ctx.obj.environ) if as_ is None else as_
    dropped = flushing.drop(store_here(ctx.obj, store), name, by=by, environ=ctx.obj.environ)
    if json:
        out(json_.dumps({"dropped": [one.owed.id for one in dropped]}, ensure_ascii=False))
    elif not dropped:
        err("nothing is owed")
    else:
        for one in dropped:
            out(escape(f"dropped {one.owed.id[:_SHOWN]}: {one.owed.notifier} is not told of {one.owed.event}"))
    return 0


def _row(one: NotificationEntry, now: datetime) -> tuple[str, ...]:
    last = one.rounds.last
    after = "" if last is None or last.retry_at is None else readable_time(last.retry_at, now=now)
    return (
        one.owed.id[:_SHOWN],
        one.status,
        escape(one.owed.event),
        escape(one.owed.notifier),
        "0" if last is None else str(last.attempts),
        escape(after) or "-",
        escape(one.run_id),
    )


def _colour(status: str) -> str:
    return {"delivered": "green", "owed": "yellow", "failed": "yellow"}.get(status, "red")


__all__ = ["drop", "flush", "list_"]
