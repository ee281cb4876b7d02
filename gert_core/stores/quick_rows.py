"""Make the row of a run that has ended of the first and the last line of its trace, without folding all of it.

Most runs of a long list have ended in the process that started them: two lines say everything that a list shows. All
other lines are only looked at for what would change that. Where there is any doubt, the caller folds the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from gert_core.api.errors import RunError
from gert_core.api.events import EventType
from gert_core.api.results import RunStatus
from gert_core.api.store_records import RunRow
from gert_core.kit.files import MIB, read_file
from gert_core.kit.json_reader import JsonDecoder
from gert_core.kit.owners import Owners
from gert_core.kit.run_rows import MOVED, PREFIX, told
from gert_core.runs.meta import META
from gert_core.stores.lock import LockFile
from gert_core.trace.reader import decode

if TYPE_CHECKING:
    from pathlib import Path

LIMIT: Final = 8 * MIB
"""The longest trace that is read at once."""
_BEGIN: Final = PREFIX + b'start"'
_END: Final = b"\n" + PREFIX + b'complete"'
_WAITING: Final = ("approval_", "question_", "pause_")
"""How the types of events begin that a run may wait for when it has ended without being completed."""
_NO_TIME: Final = "0.000s"


class _Line(Struct, frozen=True, gc=False):
    """What is looked at in every line; ``data`` is only checked to be JSON."""

    type: str
    timestamp: str
    run_id: str
    seq: int
    prev_hash: str
    data: Raw
    step_key: str | None = None


_DECODER: Final = JsonDecoder(_Line)
_META: Final = JsonDecoder(dict[str, Raw])


def row_of_directory(path: Path) -> RunRow | None:
    """Return the row of a run that has ended by its directory; None when only the fold of its trace can tell."""
    try:
        owners = Owners.of(path)
        meta = read_file(path / META, limit=MIB, owners=owners)
        if meta is None or not _META.decode(meta).keys().isdisjoint((MOVED, "trace")):
            return None
        data = read_file(path / "trace.jsonl", limit=LIMIT, owners=owners)
        row = None if data is None else row_of_trace(data)
        if row is None or row.run_id != path.name or LockFile(path / "lock").holder(owners) is not None:
            return None
    except (OSError, RunError, ValueError):
        return None
    return row


def row_of_trace(data: bytes) -> RunRow | None:
    """Return the row of a run by the whole of its trace; None when only a fold can tell."""
    last = data.rfind(_END) + 1
    if not data.startswith(_BEGIN) or not last or data.find(b"\n", last) != len(data) - 1 or b"\0" in data:
        return None
    try:
        lines = _DECODER.decode_lines(data)
        first, end = decode(data[: data.find(b"\n") + 1]), decode(data[last:])
        row = told(RunRow(run_id=first.run_id), first.type, first.data, first.timestamp)
        row = told(row, end.type, end.data, end.timestamp)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if any(line.seq != number or line.run_id != row.run_id for number, line in enumerate(lines, 1)):
        return None
    if any(line.type.startswith("run_") and line.type != EventType.RUN_SUMMARY for line in lines[1:-1]):
        return None
    if row.status != RunStatus.COMPLETED and not _settled(lines):
        return None
    if any(not isinstance(value, str | None) for value in (row.tenant, row.actor, row.outcome, row.code)):
        return None
    if row.duration is None and end.data.get("duration") is not None:
        return None
    waited = None if row.waited == _NO_TIME else row.waited
    return replace(row, waited=waited, last_seq=end.seq, updated=end.timestamp)


def _settled(lines: list[_Line]) -> bool:
    """Return whether every step that was started is over, and no person was asked anything."""
    steps: set[str | None] = set()
    for line in lines:
        if line.type == EventType.STEP_START:
            steps.add(line.step_key)
        elif line.type == EventType.STEP_COMPLETE:
            steps.discard(line.step_key)
        elif line.type.startswith(_WAITING):
            return False
    return not steps


__all__ = ["LIMIT", "row_of_directory", "row_of_trace"]
