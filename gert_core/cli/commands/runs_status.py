"""``gert runs status``, ``resume-point``, ``summaries`` and ``lease``: what is known about one run, from its fold."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.stores import store_here, store_option
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.summaries import summaries_of
from gert_core.runs.listing import run_info

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api.store_records import Lease
    from gert_core.runs.listing import RunInfo


def status(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show where a run stands: its status, its last event, what it waits for and who executes it."""
    from gert_core.runs.lifecycle.status import standing_of

    info = _info(ctx, run_id, store)
    held = _holder(info)
    found = standing_of(info, lease=None if held is None else lease_json(held))
    waits = str(found.blocked_on[0]) if found.blocked_on else None
    instead = {"blocked_on": waits} | ({} if held is None or json else {"lease": _told(held)})
    _print(found.to_json(), as_json=json, instead=instead)
    return 0 if info.state else 1


def resume_point(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show where a run would go on, and what it needs before that."""
    from gert_core.runs.lifecycle.status import resume_point_of

    info = _info(ctx, run_id, store)
    if info.state is None:
        return _unreadable(info, as_json=json)
    found = resume_point_of(info.state, live=info.live or info.moved is not None)
    waits = ", ".join(map(str, found.blocked_on)) or None
    shown = {"steps": ", ".join(found.steps) or None, "blocked_on": waits}
    _print(found.to_json(), as_json=json, instead=shown)
    return 0


def summaries(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    type: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option("--type", metavar="TYPE", help="Only the summary of this type.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Only the latest N.")] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List the latest summary of each type that a run recorded: type, number of the event, JSON; the latest first."""
    info = _info(ctx, run_id, store)
    if info.state is None:
        return _unreadable(info, as_json=json)
    found = [one for one in reversed(summaries_of(info.state)) if type in (None, one.summary_type)]
    rows = [one.to_json() for one in found][:limit]
    if json:
        out(json_.dumps({"run_id": info.run_id, "summaries": rows}, ensure_ascii=False))
        return 0
    for row in rows:
        out(f"{escape(str(row['type']))}\t{row['seq']}\t{escape(json_.dumps(row['payload'], ensure_ascii=False))}")
    if not rows:
        err("the run has no summaries" if type is None else f"the run has no summary of type {type!r}")
    return 0


def lease(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show who executes a run; exit with 1 when nothing does."""
    info = _info(ctx, run_id, store)
    held = _holder(info)
    if held is not None:
        _print(lease_json(held), as_json=json)
    elif json:
        out(json_.dumps({"run_id": info.run_id, "lease": None}))
    else:
        err(f"run {info.run_id} is not being executed")
    return 0 if held is not None else 1


def lease_json(held: Lease) -> dict[str, object]:
    """Return a lease as ``gert runs lease --json`` prints it; on a directory it ends with its process."""
    return {
        "worker": held.worker_id or None,
        "process": held.process,
        "fence": held.fence,
        "expires_at": held.expires_at,
    }


def _told(held: Lease) -> str:
    """Return who executes a run, and when a lease that ends by time does so; also when its process is gone."""
    from gert_core.engine.leaseholders import is_gone, told, until

    if (ends := until(held)) is None:
        return told(held)
    if is_gone(held):
        return f"{told(held)}, whose process is gone; the run can be resumed when its lease ends {ends}"
    return f"{told(held)}, until its lease ends {ends} or is renewed"


def _info(ctx: typer.Context, run_id: str, store: str | None) -> RunInfo:
    return run_info(find_run(store_here(ctx.obj, store), run_id))


def _holder(info: RunInfo) -> Lease | None:
    return info.run.holder()


def _unreadable(info: RunInfo, *, as_json: bool) -> int:
    if as_json:
        out(json_.dumps({"run_id": info.run_id, "problem": info.problem}, ensure_ascii=False))
    else:
        err(escape(info.problem))
    return 1


def _print(document: Mapping[str, Any], *, as_json: bool, instead: Mapping[str, str | None] | None = None) -> None:
    """Print a document, for people with a line per member; ``instead`` has what they are shown in place of a value."""
    if as_json:
        out(json_.dumps(document, ensure_ascii=False))
        return
    for name, value in {**document, **(instead or {})}.items():
        text = value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)
        out(f"{name}: {escape(text)}")


__all__ = ["lease", "lease_json", "resume_point", "status", "summaries"]
