"""Make the rows of run lists of what the lines of a trace say, and choose those that a query asks for."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.api.events import EventType
from gert_core.api.results import RunStatus
from gert_core.kit.json_reader import loads
from gert_core.kit.time_spans import recorded_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gert_core.api.store_records import RunQuery, RunRow

PREFIX: Final = b'{"type":"run_'
"""How the lines begin that say something about the run as a whole."""
INTERRUPTED: Final = "interrupted"
"""The status of a run that has not ended and that no worker holds."""
UNREADABLE: Final = "unreadable"
"""The status of a run whose files cannot be read."""
MOVED: Final = "moved"
"""The status of a run that was moved to another store, and the member of its ``meta.json`` that says so."""
ACTIVE: Final = frozenset({str(RunStatus.RUNNING), "queued", INTERRUPTED})
"""The statuses of runs that are on their way."""
_TIME: Final = b'","timestamp":"'
_TIME_LENGTH: Final = 27


def line_time(line: bytes) -> str | None:
    """Return when a line was written, without decoding the rest of it."""
    at = line.find(_TIME, 0, 300)
    return None if at < 0 else line[at + len(_TIME) : at + len(_TIME) + _TIME_LENGTH].decode("ascii", "replace")


def advance(row: RunRow, lines: Iterable[bytes], last: int) -> RunRow:
    """Return the row behind a group of lines, whose last one has the number ``last``.

    Only the last line and those that begin with ``PREFIX`` are looked at.
    """
    line = b""
    for line in lines:
        if line.startswith(PREFIX):
            row = _after(row, line)
    return replace(row, last_seq=last, updated=line_time(line) or row.updated)


_BLOCK: Final = frozenset(("kind", "key"))


def check_blocks(row: RunRow) -> None:
    """Raise ``ValueError`` unless ``blocked_on`` has what everything that shows a row relies on."""
    if any(block.keys() != _BLOCK for block in row.blocked_on):
        raise ValueError("blocked_on has more or less than kinds and keys")


def _after(row: RunRow, line: bytes) -> RunRow:
    try:
        event = loads(line)
        return told(row, event["type"], event["data"], event["timestamp"])
    except (ValueError, LookupError, TypeError, AttributeError):  # of a store that others wrote
        raise StoreError("a line of the run is not an event that gert wrote", kind=ErrorKind.TRACE) from None


def told(row: RunRow, kind: str, data: Mapping[str, Any], at: str) -> RunRow:
    """Return the row behind an event, given by its type, its data and its time."""
    if kind == EventType.RUN_START:
        return replace(
            row,
            runbook=str(data.get("runbook", "")),
            status=str(RunStatus.RUNNING),
            mode=str(data.get("mode") or ""),
            tenant=data.get("tenant"),
            actor=data.get("actor"),
            started=at,
        )
    if kind == EventType.RUN_RESUMED:
        waited = added(row.waited, data.get("waited"))
        return replace(
            row, status=str(RunStatus.RUNNING), outcome=None, code=None, finished=None, blocked_on=(), waited=waited
        )
    if kind not in (EventType.RUN_SUSPENDED, EventType.RUN_COMPLETE):
        return row
    times = {name: added(getattr(row, name), data.get(name)) for name in ("duration", "waited")}
    if kind == EventType.RUN_SUSPENDED:
        return replace(row, status=str(data.get("status")), blocked_on=blocked_on(data), **times)
    outcome = data.get("outcome") or {}
    status = str(data.get("status"))
    return replace(
        row,
        status=status,
        outcome=outcome.get("category"),
        code=outcome.get("code"),
        finished=at,
        blocked_on=(),
        **times,
    )


def blocked_on(data: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """Return what a run waits for, of the data of its ``run_suspended``: steps to approve, steps that ask, keys.

    A run that was suspended by an older gert names tickets only.
    """
    approvals = data.get("approvals") or data.get("tickets") or ()
    found = [{"kind": "approval", "key": str(key)} for key in approvals]
    found += [{"kind": "answer", "key": str(key)} for key in data.get("questions") or ()]
    keys = data.get("unblock_keys") or [key for key in (data.get("unblock_key"),) if key is not None]
    found += [{"kind": "unblock", "key": str(key)} for key in keys]
    return tuple(found)


def added(known: object, more: object) -> str | None:
    """Return the sum of two durations as traces have them; what is missing or is not one counts nothing."""
    seconds = [found for text in (known, more) if (found := recorded_seconds(text)) is not None]
    return f"{sum(seconds):.3f}s" if seconds else None


def shown(row: RunRow, *, live: bool) -> RunRow:
    """Return a row as lists have it: what is ``running`` and held by no worker is ``interrupted``."""
    status = INTERRUPTED if row.status == RunStatus.RUNNING and not live else row.status
    return replace(row, status=status, live=live)


def select(rows: Iterable[RunRow], query: RunQuery) -> Iterator[RunRow]:
    """Yield the rows, the newest first and as ``shown``, that a query asks for."""
    left, passed, wanted = query.limit, query.before is None, matcher(query)
    for row in rows:
        if left == 0:
            return
        if passed and wanted(row):
            left = None if left is None else left - 1
            yield row
        passed = passed or row.run_id == query.before


def matches(row: RunRow, query: RunQuery) -> bool:
    """Return whether a row is one that a query asks for; the page (``before``, ``limit``) is left to the caller."""
    return matcher(query)(row)


def matcher(query: RunQuery) -> Callable[[RunRow], bool]:
    """Return ``matches`` for one query and many rows, which looks only at what is asked for."""
    names = ("runbook", "tenant", "outcome", "code", "mode", "actor")
    equal = {name: wanted for name in names if (wanted := getattr(query, name)) is not None}
    get = attrgetter(*equal) if equal else None
    values = tuple(equal.values()) if len(equal) > 1 else next(iter(equal.values()), None)
    status, active, since, until = query.status, query.active, query.since, query.until
    if not equal and not status and active is None and since is None and until is None:
        return _any_row

    def wanted_row(row: RunRow) -> bool:
        if status and row.status not in status:
            return False
        if active is not None and active != (row.status in ACTIVE):
            return False
        if get is not None and get(row) != values:
            return False
        started = row.started or ""
        return (since is None or started >= since) and (until is None or started < until)

    return wanted_row


def _any_row(_row: RunRow) -> bool:
    return True


__all__ = [
    "ACTIVE",
    "INTERRUPTED",
    "MOVED",
    "PREFIX",
    "UNREADABLE",
    "added",
    "advance",
    "blocked_on",
    "check_blocks",
    "line_time",
    "matcher",
    "matches",
    "select",
    "shown",
    "told",
]
