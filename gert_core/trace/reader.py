"""Read a trace file as events, and recover its end after a crash."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.errors import TraceError
from gert_core.api.events import TraceEvent
from gert_core.trace.events import ZEROS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def decode(line: bytes) -> TraceEvent:
    """Decode one line as an event; raise ``ValueError`` when it is not one."""
    try:
        raw = json.loads(line)
        return TraceEvent(
            type=raw["type"],
            timestamp=raw["timestamp"],
            run_id=raw["run_id"],
            seq=raw["seq"],
            prev_hash=raw["prev_hash"],
            data=raw["data"],
            step_key=raw.get("step_key"),
            principal=raw.get("principal"),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a valid trace event: {error}") from None


def read(path: Path) -> Iterator[TraceEvent]:
    """Yield the events of a trace without a torn end (no newline, or zeros); raise on any other invalid line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n") or b"\0" in line:
                    return
                try:
                    yield decode(line)
                except ValueError as error:
                    raise TraceError(
                        f"line {number} of {path} is {error}",
                        file=str(path),
                        line=number,
                        hint="verify the trace",
                    ) from None
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be read: {error.strerror}", file=str(path)) from None


class Recovered(Struct, frozen=True, kw_only=True):
    """The end of a trace from which a resumed run continues."""

    seq: int
    """The number of the last complete event, ``start_seq`` of the next writer."""
    prev_hash: str
    size: int
    torn: int = 0
    """Bytes of a torn write after it, which are not a complete event."""


def recover(path: Path, *, aside: Path | None = None) -> Recovered:
    """Check the chain up to the last complete event and cut off a torn write after it.

    What is cut is kept in ``aside``. Only an unfinished last line, or blocks that a power loss left as zeros, are
    torn; a chain that breaks anywhere else was altered, and such a run is not resumed.
    """
    seq = size = 0
    previous = ZEROS
    try:
        with path.open("r+b") as file:
            for line in file:
                if not line.endswith(b"\n") or b"\0" in line:
                    break
                if not line.endswith(b',"prev_hash":"%b"}\n' % previous.encode()) or decode(line).seq != seq + 1:
                    raise ValueError(f"the chain breaks at event {seq + 1}")
                previous = sha256(line[:-1]).hexdigest()
                seq, size = seq + 1, size + len(line)
            file.seek(size)
            torn = file.read()
            if torn:
                _keep(torn, aside)
                file.truncate(size)
                os.fsync(file.fileno())
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be recovered: {error.strerror}", file=str(path)) from None
    except ValueError as error:
        raise TraceError(
            f"the trace {path} was altered: {error}",
            file=str(path),
            hint="see gert trace verify; an altered run cannot be resumed",
        ) from None
    return Recovered(seq=seq, prev_hash=previous, size=size, torn=len(torn))


def _keep(torn: bytes, aside: Path | None) -> None:
    if aside is None:
        return
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(torn + b"\n")
        file.flush()
        os.fsync(fd)


__all__ = ["Recovered", "decode", "read", "recover"]
