"""Lines of made-up runs, chained as the core chains them, for tests of run stores."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from gert_core.api import EventType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Lease, RunStore, Sink, StoredRun

_ENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "completed": (
        EventType.RUN_COMPLETE,
        {"status": "completed", "outcome": {"category": "resolved", "code": "done"}, "duration": "1.500s"},
    ),
    "failed": (
        EventType.RUN_COMPLETE,
        {"status": "failed", "failure": {"kind": "x", "message": "y"}, "duration": "0.100s"},
    ),
    "approval_pending": (
        EventType.RUN_SUSPENDED,
        {"status": "approval_pending", "tickets": ["ticket-1"], "duration": "0.100s"},
    ),
}


def event_lines(
    run_id: str, count: int, *, end: str | None = None, facts: Mapping[str, Any] | None = None
) -> list[bytes]:
    """Return ``count`` lines of a run, without line ends: its start, notes, and with ``end`` how it ended.

    A run whose id begins with a date starts on that day.
    """
    return list(_lines(run_id, count, end, json.dumps(dict(facts or {}))))


@cache
def _lines(run_id: str, count: int, end: str | None, facts: str) -> tuple[bytes, ...]:
    day = f"{run_id[:4]}-{run_id[4:6]}-{run_id[6:8]}" if run_id[:8].isdecimal() else "2026-01-01"
    previous, found = "0" * 64, []
    for seq in range(1, count + 1):
        event: str = "noted"
        data: dict[str, Any] = {"n": seq}
        if seq == 1:
            event, data = EventType.RUN_START, {"runbook": "a", "actor": "tester", **json.loads(facts)}
        elif seq == count and end is not None:
            event, data = _ENDS[end]
        head = f'{{"type":"{event}","timestamp":"{day}T00:00:{seq % 60:02}.000000Z","run_id":{json.dumps(run_id)}'
        text = f'{head},"seq":{seq},"data":{json.dumps(data, separators=(",", ":"))}'
        line = f'{text},"prev_hash":"{previous}"}}'
        if seq == count and end is not None:
            seal = hashlib.sha256(line.encode()).hexdigest()
            line = f'{text[:-1]},"chain_hash":"{seal}"}},"prev_hash":"{previous}"}}'
        previous = hashlib.sha256(line.encode()).hexdigest()
        found.append(line.encode())
    return tuple(found)


def write_run(
    store: RunStore,
    run_id: str,
    count: int = 4,
    *,
    of: int | None = None,
    end: str | None = None,
    facts: Mapping[str, Any] | None = None,
    close: bool = True,
) -> StoredRun:
    """Create a run with the first ``count`` of its lines; with ``close=False`` it stays held."""
    run = store.create(run_id, blobs={"meta.json": b'{"run_id": "made-up"}\n'})
    lease = run.acquire("w1", 30.0)
    assert lease is not None
    sink = run.sink(seq=0, lease=lease)
    sink.write(event_lines(run_id, of or count, end=end, facts=facts)[:count], count)
    sink.sync()
    sink.close()
    if close:
        run.release(lease)
    return run


def write_more(run: StoredRun, seq: int, count: int) -> None:
    """Add the lines up to ``count`` to a run that ``write_run`` left held."""
    write_group(run, event_lines(run.run_id, count)[seq:], seq=seq, lease=run.acquire("w1", 30.0))


def write_group(run: StoredRun, lines: Sequence[bytes], *, seq: int, lease: Lease | None) -> None:
    """Open a run behind a number, write a group of lines and sync it."""
    sink = run.sink(seq=seq, lease=lease)
    try:
        write_synced(sink, lines, seq + len(lines))
    finally:
        with suppress(OSError):  # what is wrong was raised above
            sink.close()


def write_synced(sink: Sink, lines: Sequence[bytes], last: int) -> None:
    """Write a group of lines and sync it."""
    sink.write(lines, last)
    sink.sync()


__all__ = ["event_lines", "write_group", "write_more", "write_run", "write_synced"]
