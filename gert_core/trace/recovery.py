"""Reads a trace that a run will be resumed from: once, checking its chain, up to the end that a crash left."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct

from gert_core.api.errors import TraceError
from gert_core.api.events import EventType
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import LINE_LIMIT, MIB, UnreadableError, lines, open_file
from gert_core.trace.events import SEALED_EVENTS, ZEROS
from gert_core.trace.lines import TraceLines
from gert_core.trace.reader import altered, check_torn, decode, is_torn, other_run
from gert_core.trace.seals import AlteredError, read_seal
from gert_core.trace.sinks import FileId, check_same

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.events import TraceEvent
    from gert_core.kit.owners import Owners
    from gert_core.trace.seals import Seal


_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
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
    file: FileId | None = None
    """The file that was read, whatever stands at its path later."""


class CheckedTrace:
    """Reads a trace once and checks its chain: iterate over its events, then look at ``end`` and ``seals``.

    Only an unfinished last line, or blocks that a power loss left as zeros, are torn; a chain that breaks anywhere
    else, and zeros in front of an event that was synced, were altered.
    """

    __slots__ = ("_owners", "_run_id", "end", "lines", "path", "seals")

    def __init__(self, path: Path, *, run_id: str = "", owners: Owners | None = None) -> None:
        self.path = path
        self._run_id = run_id
        self._owners = owners
        self.end = TraceEnd()
        self.seals: list[Seal] = []
        self.lines = TraceLines(path)
        """The lines that were read, to be asked again until it is closed."""

    def __iter__(self) -> Iterator[TraceEvent]:
        """Read the events; raise ``TraceError`` when the file cannot be read or was altered."""
        try:
            with open_file(self.path, owners=self._owners) as file:
                self.lines.keep(file.fileno())
                yield from self._events(file)
        except OSError as error:
            raise TraceError(f"the trace {self.path} cannot be read: {error.strerror}", file=str(self.path)) from None
        except (ValueError, AlteredError) as error:
            raise altered(self.path, error) from None

    def _events(self, file: BinaryIO) -> Iterator[TraceEvent]:
        seq = size = 0
        previous, run_id, sealed = ZEROS, self._run_id, False
        found = lines(file, self.path)
        for line in found:
            if is_torn(line):
                check_torn(line, found)
                break
            event = decode(line)
            seq += 1
            run_id = run_id or event.run_id
            if seq == 1 and event.run_id != run_id:
                raise other_run(self.path, event.run_id, run_id)
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
        info = os.fstat(file.fileno())
        torn = info.st_size - size
        if torn > _TORN_LIMIT:
            raise ValueError(f"{torn} bytes follow event {seq}, more than a crash leaves")
        self.end = TraceEnd(seq=seq, prev_hash=previous, size=size, torn=torn, file=(info.st_dev, info.st_ino))


def cut_torn_end(path: Path, end: TraceEnd, *, aside: Path) -> None:
    """Cut off a torn write behind the last complete event; what is cut is kept in ``aside``.

    Nothing is cut without a complete event in front of it, or from another file than the one that was read.
    """
    if not end.torn or not end.seq:
        return
    try:
        with os.fdopen(os.open(path, os.O_RDWR | _FLAGS), "r+b") as file:
            check_same(file.fileno(), path, end.file)
            file.seek(end.size)
            _keep(file, aside)
            file.truncate(end.size)
            os.fsync(file.fileno())
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be recovered: {error.strerror}", file=str(path)) from None


def _keep(torn: BinaryIO, aside: Path) -> None:
    """Append what is torn to a file of its own; raise ``UnreadableError`` when that is somebody's file."""
    try:
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
    except OSError as error:
        raise UnreadableError(aside, f"cannot be written: {error.strerror}") from None
    with os.fdopen(fd, "wb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            raise UnreadableError(aside, "cannot be written: it is not a file of this run alone")
        while part := torn.read(MIB):
            file.write(part)
        file.write(b"\n")
        file.flush()
        os.fsync(fd)
    sync_directory(aside.parent)  # what is cut is lost unless the name of the copy is on disk too


__all__ = ["CheckedTrace", "TraceEnd", "cut_torn_end"]
