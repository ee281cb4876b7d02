"""``gert runs block`` and ``gert runs unblock``: keep a run from going on, and let it go on."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.cli.lazy import typer
from gert_core.cli.render.result import following, show_following
from gert_core.cli.render.terminal import escape, out
from gert_core.cli.session import project_here, registry_for
from gert_core.cli.stores import store_of, store_option

if TYPE_CHECKING:
    from gert_core.api import RunStore
    from gert_core.runs.lifecycle.status import Standing


def block(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    key: Annotated[str, typer.Option("--key", metavar="K", help="The key that unblocks it.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why it is blocked.")] = "",
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who blocks; default: the current user.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Block a run: it cannot be resumed until it is unblocked with the key.

    One that is being executed stops before its next step.
    """
    from gert_core.engine.blocking import block as write

    given = _given(ctx, as_, store)
    stands = write(run_id, key=key, reason=reason, **given)
    if stands.status == "running" and not json:
        out(escape(f"Run {stands.run_id} is being executed, and will be blocked on {key} before its next step."))
        return 0
    return say(stands, f"Blocked on {key}.", given["store"], as_json=json)


def unblock(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    key: Annotated[str, typer.Option("--key", metavar="K", help="The key that it is blocked on.")],
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who unblocks; default: the current user.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Unblock a run: what waits for this key goes on when the run is resumed."""
    from gert_core.engine.blocking import unblock as write

    given = _given(ctx, as_, store)
    stands = write(run_id, key=key, **given)
    return say(stands, f"Unblocked {key}.", given["store"], as_json=json)


def _given(ctx: typer.Context, as_: str | None, store: str | None) -> dict[str, Any]:
    """Return what both take: the store, the plugins, the environment and who asks."""
    from gert_core.engine.run import default_actor

    project, environ = project_here(), ctx.obj.environ
    return {
        "store": store_of(project, ctx.obj, store),
        "by": default_actor(environ) if as_ is None else as_,
        "registry": registry_for(project, ctx.obj),
        "environ": environ,
    }


def say(stands: Standing, done: str, store: RunStore, *, as_json: bool) -> int:
    """Print what was done to a run, where it stands then and what to do next."""
    with store.open(stands.run_id) as run:
        if as_json:
            out(json_.dumps({**stands.to_json(), "next": following(run)}, ensure_ascii=False))
            return 0
        waiting = ", ".join(str(one) for one in stands.blocked_on)
        out(escape(f"{done}{f' It waits for {waiting}.' if waiting else ''}"))
        show_following(run)
    return 0


__all__ = ["block", "say", "unblock"]
