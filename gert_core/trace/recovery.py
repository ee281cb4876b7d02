"""Reads a trace that a run will be resumed from: once, checking its chain, up to the end that a crash left."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct

from gert_core.api.errors import TraceError
from gert_core.api.events import EventType
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import LINE_LIMIT, MIB, lines, open_file
from gert_core.trace.events import SEALED_EVENTS, ZEROS
from gert_core.trace.lines import TraceLines
from gert_core.trace.reader import altered, check_torn, decode, is_torn
from gert_core.trace.seals import AlteredError, read_seal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.events import TraceEvent
    from gert_core.trace.seals import Seal


_TORN_LIMIT: Final = 2 * LINE_LIMIT
"""More than the group of lines that a crash can tear."""


class TraceEnd(Struct, frozen=True, kw_only=True):
    """The end of a trace from which a resumed run continues."""

    seq: int = 0
    """The number of the last complete event, ``start_seq`` of the next writer."""
    prev_hash: str = ZEROS
    size: int = 0
    torn: int = 0
    """Bytes of a torn write after it, which are not a complete event."""


class CheckedTrace:
    """Reads a trace once and checks its chain: iterate over its events, then look at ``end`` and ``seals``.

    Only an unfinished last line, or blocks that a power loss left as zeros, are torn; a chain that breaks anywhere
    else, and zeros in front of an event that was synced, were altered.
    """

    __slots__ = ("end", "lines", "path", "seals")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = TraceEnd()
        self.seals: list[Seal] = []
        self.lines = TraceLines(path)
        """The lines that were read, to be asked again until it is closed."""

    def __iter__(self) -> Iterator[TraceEvent]:
        """Read the events; raise ``TraceError`` when the file cannot be read or was altered."""
        try:
            with open_file(self.path) as file:
                self.lines.keep(file.fileno())
                yield from self._events(file)
        except OSError as error:
            raise TraceError(f"the trace {self.path} cannot be read: {error.strerror}", file=str(self.path)) from None
        except (ValueError, AlteredError) as error:
            raise altered(self.path, error) from None

    def _events(self, file: BinaryIO) -> Iterator[TraceEvent]:
        seq = size = 0
        previous, run_id, sealed = ZEROS, "", False
        found = lines(file, self.path)
        for line in found:
            if is_torn(line):
                check_torn(line, found)
                break
            event = decode(line)
            seq += 1
            run_id = run_id or event.run_id
            if not line.endswith(b',"prev_hash":"%b"}\n' % previous.encode()) or event.seq != seq:
                raise ValueError(f"the chain breaks at event {seq}")
            if event.run_id != run_id or (sealed and event.type != EventType.RUN_RESUMED):
                raise ValueError(f"event {seq} does not belong there")
            sealed = event.type in SEALED_EVENTS
            if sealed:
                self.seals.append(read_seal(line[:-1], seq))
            previous = sha256(line[:-1]).hexdigest()
            size += len(line)
            self.lines.add(line)
            yield event
        torn = os.fstat(file.fileno()).st_size - size
        if torn > _TORN_LIMIT:
            raise ValueError(f"{torn} bytes follow event {seq}, more than a crash leaves")
        self.end = TraceEnd(seq=seq, prev_hash=previous, size=size, torn=torn)


def cut_torn_end(path: Path, end: TraceEnd, *, aside: Path) -> None:
    """Cut off a torn write behind the last complete event; what is cut is kept in ``aside``."""
    if not end.torn:
        return
    try:
        with path.open("r+b") as file:
            file.seek(end.size)
            _keep(file, aside)
            file.truncate(end.size)
            os.fsync(file.fileno())
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be recovered: {error.strerror}", file=str(path)) from None


def _keep(torn: BinaryIO, aside: Path) -> None:
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        while part := torn.read(MIB):
            file.write(part)
        file.write(b"\n")
        file.flush()
        os.fsync(fd)
    sync_directory(aside.parent)  # what is cut is lost unless the name of the copy is on disk too


__all__ = ["CheckedTrace", "TraceEnd", "cut_torn_end"]
