"""Read a trace as events, up to an end that a crash tore."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import MsgspecError
from msgspec import json as msgspec_json

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError, TraceError
from gert_core.api.events import TraceEvent
from gert_core.kit.files import lines, open_file
from gert_core.trace.events import is_synced
from gert_core.trace.shapes import check_shape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gert_core.api.stores import StoredRun


_HEAD: Final = b'{"type":"'
"""How the lines of a trace begin; the type of the event follows."""
_TYPE: Final = len(_HEAD)
_JSON: Final = msgspec_json.Decoder()


def decode(line: bytes) -> TraceEvent:
    """Decode one line as an event and check its types; raise ``ValueError`` when it is not one."""
    try:
        raw = _document(line)
        event = TraceEvent(
            type=raw["type"],
            timestamp=raw["timestamp"],
            run_id=raw["run_id"],
            seq=raw["seq"],
            prev_hash=raw["prev_hash"],
            data=raw["data"],
            step_key=raw.get("step_key"),
            principal=raw.get("principal"),
        )
        check_shape(event)
        return event
    except (ValueError, MsgspecError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a valid trace event: {error}") from None


def _document(line: bytes) -> Any:
    """Return what ``json.loads`` returns, in less than half of the time for nearly all lines.

    msgspec refuses numbers that are infinite or none, and halves of characters, which traces may have.
    """
    try:
        return _JSON.decode(line)
    except (MsgspecError, ValueError):
        return json.loads(line)


def is_torn(line: bytes) -> bool:
    """Return whether a line is one that a crash leaves: without its newline, or with blocks that are zeros."""
    return not line.endswith(b"\n") or b"\0" in line


def check_torn(line: bytes, rest: Iterable[bytes]) -> None:
    """Raise ``ValueError`` when the lines from a torn one on are not the end that a crash leaves.

    Zeros in front of an event that was synced together with everything before it came later: a crash leaves none
    there, and to cut them would lose what was executed.
    """
    for part in chain((line,), rest):
        try:
            event = decode(part.rpartition(b"\0")[2])
        except ValueError:
            continue
        if part.endswith(b"\n") and is_synced(event):
            raise ValueError(f"there are zeros in front of event {event.seq}, {event.type}, which was synced to disk")


def altered(place: str, error: Exception) -> TraceError:
    """Return the error of a trace that is not as it was written."""
    return TraceError(
        f"the trace {place} was altered: {error}",
        kind=ErrorKind.TRACE_ALTERED,
        file=place,
        hint="see gert trace verify; an altered run cannot be resumed",
    )


def other_run(place: str, found: str, run_id: str) -> TraceError:
    """Return the error of a trace in the place of another run's."""
    return TraceError(
        f"the trace {place} is of run {found}, not of {run_id}",
        kind=ErrorKind.TRACE_ALTERED,
        file=place,
        hint="restore the trace of this run; nothing was changed",
    )


def unreadable(place: str, error: OSError) -> TraceError:
    """Return the error of a trace that the system, or its store, does not give."""
    kind = error.kind if isinstance(error, StoreError) else None
    return TraceError(f"the trace {place} cannot be read: {error.strerror}", kind=kind, file=place)


def read(source: Path | StoredRun, *, run_id: str = "", only: Collection[str] | None = None) -> Iterator[TraceEvent]:
    """Yield the events of a trace without a torn end (no newline, or zeros); raise on any other invalid line.

    The trace is that of a stored run, or a file. Every event must be of the same run, of ``run_id`` if that is given.
    With ``only``, events of other types may be left out, and are not decoded then.
    """
    wanted = None if only is None else frozenset(name.encode() for name in only)
    if isinstance(source, Path):
        place, found = str(source), _file_lines(source)
    else:
        place, found = source.place, source.lines()
    try:
        for number, line in enumerate(found, 1):
            if is_torn(line):
                _check_end(place, line, found)
                return
            if wanted is not None and line.startswith(_HEAD) and line[_TYPE : line.find(b'"', _TYPE)] not in wanted:
                continue
            try:
                event = decode(line)
                run_id = run_id or event.run_id
                if event.run_id != run_id:
                    raise other_run(place, event.run_id, run_id)
                yield event
            except ValueError as error:
                raise TraceError(
                    f"line {number} of {place} is {error}", file=place, line=number, hint="verify the trace"
                ) from None
    except OSError as error:
        raise unreadable(place, error) from None


def _file_lines(path: Path) -> Iterator[bytes]:
    with open_file(path) as file:
        yield from lines(file, path)


def _check_end(place: str, line: bytes, rest: Iterable[bytes]) -> None:
    try:
        check_torn(line, rest)
    except ValueError as error:
        raise altered(place, error) from None


__all__ = ["altered", "check_torn", "decode", "is_torn", "other_run", "read", "unreadable"]
