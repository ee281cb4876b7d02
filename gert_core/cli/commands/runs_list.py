"""``gert runs list``: list the runs of a project, the newest first."""

from __future__ import annotations

import json as json_
import sys
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

from gert_core.api.errors import RunError, UsageError
from gert_core.api.results import RunStatus
from gert_core.api.store_records import RunQuery
from gert_core.cli.lazy import typer
from gert_core.cli.render.runs import ago, colour
from gert_core.cli.render.table import table
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.stores import store_here, store_option
from gert_core.kit.display import readable_key
from gert_core.kit.run_rows import INTERRUPTED, MOVED, UNREADABLE
from gert_core.kit.times import moment
from gert_core.runs.document import row_document
from gert_core.runs.listing import run_info
from gert_core.runs.rows import phrase, row_of
from gert_core.runs.state import KEPT, MODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.api.store_records import RunRow
    from gert_core.api.stores import RunStore

_HEADER: Final = ("RUN", "RUNBOOK", "MODE", "STATUS", "OUTCOME", "AGE", "BLOCKED ON")
_STOPPED: Final = (INTERRUPTED, str(RunStatus.CANCELLED))
_STATUSES: Final = (*map(str, RunStatus), INTERRUPTED, MOVED, UNREADABLE)


def list_(
    ctx: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids only, one per line.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Only the newest N.")] = None,
    active: Annotated[bool, typer.Option("--active", help="Runs that are running, queued or interrupted.")] = False,
    status: Annotated[str | None, typer.Option("--status", metavar="A,B", help="Runs with these statuses.")] = None,
    runbook: Annotated[str | None, typer.Option("--runbook", metavar="NAME", help="Runs of this runbook.")] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", metavar="CATEGORY", help="Runs with an outcome of this category.")
    ] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="T", help="Runs of this tenant.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="7d", help="Runs that began in this time, or since a moment (RFC 3339)."),
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="A,B", help="Runs in these modes; default: real,probe.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
) -> int:
    """List the runs of this project, the newest first."""
    kept = store_here(ctx.obj, store)
    modes = words(mode, MODES, what="modes") if mode is not None else KEPT
    query = RunQuery(
        status=words(status, _STATUSES, what="statuses") if status is not None else (),
        active=active or None,
        runbook=runbook,
        outcome=outcome,
        tenant=tenant,
        since=None if since is None else moment(since, what="--since"),
    )
    # A run whose mode cannot be known is listed unless modes are given.
    wanted = modes if mode is not None else (*modes, "")
    found = islice(
        (_waiting(row, kept) for row in kept.runs(query) if row.mode in wanted),
        None if limit is None else min(limit, sys.maxsize),
    )
    if _print(found, as_json=json, ids=ids) == 0 and not json:
        asked = "" if query == RunQuery() else " that are as asked for"
        err(escape(f"no {' or '.join(modes)} runs{asked} found in {kept.place}"))
    return 0


def _waiting(row: RunRow, kept: RunStore) -> RunRow:
    """Return a row with what its run waits for.

    A database has it of the lines about the run, and none of them says what a step that was stopped left unknown.
    """
    if row.status not in _STOPPED or row.blocked_on:
        return row
    with suppress(RunError), kept.open(row.run_id) as run:
        return row if run.path is not None else row_of(run_info(run, cached=True))
    return row


def _print(rows: Iterator[RunRow], *, as_json: bool, ids: bool) -> int:
    """Print the rows; return how many there are."""
    if as_json:
        found: list[Any] = [row.run_id for row in rows] if ids else _entries(rows)
        out(json_.dumps({"ids" if ids else "runs": found}, ensure_ascii=False))
        return len(found)
    if ids:
        names = [row.run_id for row in rows]
        if names:
            out("\n".join(names))
        return len(names)
    now = datetime.now(UTC)
    cells = [_cells(row, now) for row in rows]
    if cells:
        out("\n".join(table(_HEADER, cells, column=3, colour=colour)))
    return len(cells)


def _entries(rows: Iterator[RunRow]) -> list[dict[str, object]]:
    now = datetime.now(UTC)
    return [row_document(row, now=now) for row in rows]


def _cells(row: RunRow, now: datetime) -> tuple[str, ...]:
    if row.problem is not None:
        return (row.run_id, "", "", row.status, "", "", escape(row.problem))
    outcome = "" if row.outcome is None else f"{row.outcome} ({row.code})" if row.code else row.outcome
    return (
        row.run_id,
        escape(row.runbook),
        escape(row.mode),
        escape(row.status),
        escape(outcome),
        ago(row.started, now=now),
        escape(readable_key(phrase(row.blocked_on))) if row.blocked_on else "",
    )


def words(text: str, known: Sequence[str], *, what: str) -> tuple[str, ...]:
    """Return the words of a list such as ``failed,error``, each of them a known one."""
    wanted = tuple(word.strip() for word in text.split(",") if word.strip())
    if not wanted or not set(wanted) <= set(known):
        raise UsageError(f"{text!r} is not a list of {what}", hint=f"{what} are {', '.join(known)}")
    return wanted


__all__ = ["list_", "words"]
