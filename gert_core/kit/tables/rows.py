"""The rows of runs and tickets in tables: written with the lines of a run, and found by queries."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import MsgspecError, convert
from msgspec.structs import replace

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.api.results import RunStatus
from gert_core.api.store_records import RunRow, TicketRow
from gert_core.kit.json_reader import loads
from gert_core.kit.run_rows import ACTIVE, INTERRUPTED, MOVED, UNREADABLE, check_blocks, line_time
from gert_core.kit.tables.database import marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gert_core.api.store_records import RunQuery
    from gert_core.kit.tables.database import Database

COLUMNS: Final = (
    "runbook",
    "status",
    "outcome",
    "code",
    "mode",
    "tenant",
    "actor",
    "started",
    "updated",
    "finished",
    "duration",
    "waited",
    "blocked_on",
    "last_seq",
)
"""What the lines of a run say, as the table of runs has it."""
NEXT: Final = "(SELECT MIN(expires) FROM gert_tickets WHERE run_id = ? AND status = 'open' AND expires <> '')"
"""When the first ticket of a run expires that is not answered."""
_RUNNING: Final = str(RunStatus.RUNNING)
_PAGE: Final = 500
_SHOWN: Final = 60


def timestamp(seconds: object) -> str:
    """Return seconds since 1970 as a text as in the trace; raise ``StoreError`` for what is not a time."""
    try:
        if not isinstance(seconds, int | float):
            raise TypeError
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")[:26] + "Z"
    except (TypeError, ValueError, OverflowError, OSError):
        raise damaged("a time", seconds) from None


def bytes_of(value: object) -> bytes:
    """Return what a column of bytes has; in some databases another program can leave a value of any type there."""
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else str(value).encode("utf-8", "replace")


def text_of(value: object) -> str:
    """Return what a column of text has, whichever type another program left there."""
    return value if isinstance(value, str) else bytes_of(value).decode("utf-8", "replace")


def whole_of(value: object) -> int:
    """Return what a column of whole numbers has; raise ``StoreError`` for anything else."""
    if not isinstance(value, int):
        raise damaged("a whole number", value)
    return value


def damaged(what: str, value: object) -> StoreError:
    """Return the error for a value of a table that gert did not write there."""
    return StoreError(
        f"the database is damaged: it has {ascii(value)[:_SHOWN]} in place of {what}",
        kind=ErrorKind.RUN_DIRECTORY,
        hint="another program has changed its tables: restore a backup",
    )


def values_of(row: RunRow) -> list[object]:
    """Return the values of ``COLUMNS``."""
    found: list[object] = [getattr(row, name) for name in COLUMNS]
    found[COLUMNS.index("blocked_on")] = json.dumps(row.blocked_on)
    return found


def assignments(row: RunRow, *, told: bool) -> tuple[str, list[object]]:
    """Return what to set in the table of runs behind a group of lines, and the values for it.

    Where nothing but the number of lines changed, nothing else is written. A run that goes on waits for nothing any
    more; one that is suspended goes on by itself when the first of its tickets expires.
    """
    if not told:
        return "last_seq = ?, updated = ?", [row.last_seq, row.updated]
    text = ", ".join(f"{name} = ?" for name in COLUMNS)
    if row.status == _RUNNING:
        return f"{text}, wake = NULL, next_at = NULL", values_of(row)
    if row.finished is not None:
        return f"{text}, next_at = NULL", values_of(row)
    return f"{text}, next_at = {NEXT}", [*values_of(row), row.run_id]


def row_of(run_id: str, values: tuple[Any, ...], *, live: bool = False) -> RunRow:
    """Return the row of a run from the values of ``COLUMNS``."""
    facts = dict(zip(COLUMNS, values, strict=True))
    try:
        facts["blocked_on"] = loads(facts["blocked_on"])
        row = convert({"run_id": run_id, "live": live, **facts}, RunRow)
        check_blocks(row)
    except (ValueError, TypeError, MsgspecError, RecursionError) as error:
        problem = f"its row in the table gert_runs is damaged: {error}"
        return RunRow(run_id=text_of(run_id), status=UNREADABLE, live=live, problem=problem)
    return row


def stored_row(database: Database, run_id: str) -> RunRow | None:
    """Return the row of a run as its lines say; None when there is no such run."""
    found = database.read(f"SELECT {', '.join(COLUMNS)} FROM gert_runs WHERE run_id = ?", (run_id,))  # noqa: S608 - names of columns
    return _behind_its_lines(database, row_of(run_id, found[0])) if found else None


def _behind_its_lines(database: Database, row: RunRow) -> RunRow:
    """Return a row with number and time of the last line, where rows are written late: while the run is running."""
    if not database.late_rows or row.status != _RUNNING:
        return row
    sql = "SELECT seq, line FROM gert_events WHERE run_id = ? ORDER BY seq DESC LIMIT 1"
    for seq, line in database.read(sql, (row.run_id,)):
        return replace(row, last_seq=whole_of(seq), updated=line_time(bytes_of(line)) or row.updated)
    return row


def select_runs(database: Database, query: RunQuery) -> Iterator[RunRow]:
    """Yield the runs that a query asks for, the newest first, a page at a time."""
    left, before = query.limit, query.before
    while left is None or left > 0:
        size = _PAGE if left is None else min(left, _PAGE)
        sql, values = _statement(query, before, size)
        found = database.read(sql, values)
        for run_id, held, *facts in found:
            yield _shown(_behind_its_lines(database, row_of(run_id, tuple(facts), live=bool(held))))
        if len(found) < size:
            return
        before, left = found[-1][0], None if left is None else left - size


def select_ids(database: Database) -> Iterator[str]:
    """Yield the ids of all runs, the newest first."""
    for (run_id,) in database.read("SELECT run_id FROM gert_runs ORDER BY began DESC, created DESC, run_id DESC"):
        yield text_of(run_id)


def _shown(row: RunRow) -> RunRow:
    from gert_core.kit.run_rows import shown

    return shown(row, live=row.live)


def _statement(query: RunQuery, before: str | None, size: int) -> tuple[str, list[object]]:
    """Return the SQL of a page of runs and its values."""
    wanted: list[str] = []
    values: list[object] = []
    if query.status:
        condition, words = _has_status(query.status)
        wanted.append(condition)
        values += words
    if query.active is not None:
        condition, words = _has_status(ACTIVE)
        wanted.append(condition if query.active else f"NOT {condition}")
        values += words
    for name in ("runbook", "tenant", "outcome", "code", "mode", "actor"):
        if (value := getattr(query, name)) is not None:
            wanted.append(f"r.{name} = ?")
            values.append(value)
    if query.since is not None:
        wanted.append("r.started >= ?")
        values.append(query.since)
    if query.until is not None:
        wanted.append("COALESCE(r.started, '') < ?")
        values.append(query.until)
    if before is not None:
        wanted.append(
            "(r.began, r.created, r.run_id) < (SELECT b.began, b.created, b.run_id FROM gert_runs b WHERE b.run_id = ?)"
        )
        values.append(before)
    columns = ", ".join(f"r.{name}" for name in COLUMNS)
    where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
    sql = (
        f"SELECT r.run_id, l.run_id IS NOT NULL, {columns} FROM gert_runs r "  # noqa: S608 - names and question marks
        f"LEFT JOIN gert_leases l ON l.run_id = r.run_id AND l.expires > :now {where}"
        "ORDER BY r.began DESC, r.created DESC, r.run_id DESC LIMIT ?"
    )
    return sql, [*values, size]


def _has_status(wanted: Collection[str]) -> tuple[str, list[str]]:
    """Return the condition that a run has one of these statuses, and its values.

    What is running and held by no worker is interrupted; for every other status the table of leases is not asked.
    """
    words = sorted(set(wanted) - {_RUNNING, INTERRUPTED})
    found = [f"r.status IN ({marks(words)})"] if words else []
    if _RUNNING in wanted and INTERRUPTED in wanted:
        found.append(f"r.status = '{_RUNNING}'")
    elif _RUNNING in wanted or INTERRUPTED in wanted:
        held = "IS NOT NULL" if _RUNNING in wanted else "IS NULL"
        found.append(f"r.status = '{_RUNNING}' AND l.run_id {held}")
    return f"({' OR '.join(found)})", words


def select_tickets(database: Database, **query: str | None) -> Iterator[TicketRow]:
    """Yield the tickets whose columns are as asked for, those of the newest run first."""
    asked = {name: value for name, value in query.items() if value is not None}
    where = "".join(f"AND t.{name} = ? " for name in asked)
    found = database.read(
        "SELECT t.ticket_id, t.run_id, t.runbook, t.step_id, t.status FROM gert_tickets t "  # noqa: S608 - names
        f"JOIN gert_runs r ON r.run_id = t.run_id WHERE r.status <> ? {where}"
        "ORDER BY r.began DESC, r.created DESC, r.run_id DESC, t.ticket_id",
        [MOVED, *asked.values()],
    )
    for row in found:
        ticket_id, run_id, runbook, step_id, status = map(text_of, row)
        yield TicketRow(ticket_id=ticket_id, run_id=run_id, runbook=runbook, step_id=step_id, status=status)


__all__ = [
    "COLUMNS",
    "assignments",
    "bytes_of",
    "damaged",
    "row_of",
    "select_ids",
    "select_runs",
    "select_tickets",
    "stored_row",
    "text_of",
    "timestamp",
    "values_of",
    "whole_of",
]
