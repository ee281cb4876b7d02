"""``gert runs cancel``: stop a run that another process executes."""

from __future__ import annotations

import json as json_
from typing import Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.render.result import following, show_following
from gert_core.cli.render.terminal import escape, out
from gert_core.cli.stores import store_here, store_option


def cancel(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why it is cancelled.")] = "",
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who cancels; default: the current user.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Stop a run that is being executed, here or elsewhere; it ends as cancelled and can be resumed.

    The process that executes it looks once a second; other runs of that process go on.
    """
    from gert_core.engine.cancelling import cancel as stop
    from gert_core.engine.run import default_actor

    environ = ctx.obj.environ
    by = default_actor(environ) if as_ is None else as_
    found = store_here(ctx.obj, store)
    stands = stop(run_id, store=found, by=by, reason=reason, environ=environ)
    with found.open(stands.run_id) as run:
        if json:
            out(json_.dumps({**stands.to_json(), "next": following(run)}, ensure_ascii=False))
        else:
            out(escape(f"Run {stands.run_id} has stopped: it is {stands.status}."))
            show_following(run)
    return 0


__all__ = ["cancel"]
