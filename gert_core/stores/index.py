"""Remember runs that have ended, so that a directory with many of them is listed without folding each trace again.

The index is a cache that may be deleted at any time. A row is believed only while the files that it was made from are
the same, and only from a user who could have written these files. Resuming, approving and verifying never read it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from zlib import crc32

from msgspec import Struct
from msgspec import json as msgspec_json
from msgspec.structs import astuple

from gert_core.api.store_records import RunRow
from gert_core.kit.files import MIB, UnreadableError, read_file_info
from gert_core.kit.json_reader import JsonDecoder, decode_as
from gert_core.kit.run_rows import check_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE: Final = ".index.jsonl"
"""The name of the index in the directory of runs; no run can have it, because it begins with a dot."""
FORMAT: Final = 3
_LIMIT: Final = 512 * MIB
_FRESH: Final = 100_000_000
"""Nanoseconds in which a file may change again without another time of change."""
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STALE: Final = 1000
"""The number of rows without a use from which the file is written anew."""


class Stamp(Struct, frozen=True, array_like=True, gc=False):
    """Which files a row was made from: trace and meta.json, and whose the trace is."""

    trace: tuple[int, int, int, int]
    meta: tuple[int, int, int, int] | None
    owner: int
    group: int

    @property
    def fresh(self) -> bool:
        """Whether a change of the trace could go unnoticed, because it was written only now."""
        return time.time_ns() - self.trace[3] < _FRESH


class _Row(RunRow, frozen=True, kw_only=True, array_like=True):
    """A row whose line has only values, which is read in less time; the head of its group has the names of them."""


class _Entry(Struct, frozen=True, array_like=True, gc=False):
    """One line: a run's row and what it was made from."""

    stamp: Stamp
    row: _Row

    def __post_init__(self) -> None:
        if self.row.blocked_on:
            check_blocks(self.row)


class _Head(Struct, frozen=True, kw_only=True):
    """The line in front of lines that were written together: their fields, how many bytes they have, their checksum.

    The checksum tells what was damaged; who may tell of a run is decided by the owner of the file. A digest takes
    longer, and loading the library for it a thirtieth of the time of a list of 10,000 runs.
    """

    format: int
    fields: tuple[str, ...]
    size: int
    checksum: int


class Index:
    """The rows of the runs below a directory that had ended when they were last listed."""

    __slots__ = ("_entries", "_group", "_new", "_owner", "_root", "_shared", "_used", "_whole")

    def __init__(self, root: Path) -> None:
        self._root = root
        self._entries: dict[str, _Entry] = {}
        self._new: dict[str, bytes] = {}
        self._used: set[str] = set()
        self._whole = False
        """Whether everything in the file could be read, so that more can be appended to it."""
        self._owner = self._group = -1
        self._shared = False
        with suppress(OSError, UnreadableError):
            self._read()

    def row(self, run_id: str, place: int) -> RunRow | None:
        """Return the row of a run if it was made from the files that its directory has now; see ``stamp_of``."""
        if (entry := self._entries.get(run_id)) is None or entry.stamp != stamp_of(run_id, place):
            return None
        stamp = entry.stamp
        if self._owner != stamp.owner and not (self._shared and self._group == stamp.group):
            return None  # the user who wrote the index could not have written the trace
        self._used.add(run_id)
        return entry.row

    def add(self, row: RunRow, stamp: Stamp) -> None:
        """Remember the row of a run that has ended; not one with text that is not Unicode."""
        with suppress(ValueError):
            self._new[row.run_id] = _line(stamp, row)

    def save(self, *, complete: bool) -> None:
        """Write what was added; where that is impossible, the runs are folded again next time.

        ``complete`` when every run was looked up, so that rows without a use can be dropped.
        """
        if not self._new:
            return
        stale = len(self._entries) - len(self._used)
        self._whole = self._whole and (not complete or stale <= max(_STALE, len(self._used)))
        with suppress(OSError):
            if self._whole:
                self._append(_pack(self._new.values()))
            else:
                kept = {
                    name: _line(entry.stamp, entry.row)
                    for name, entry in self._entries.items()
                    if not complete or name in self._used
                }
                self._replace(_pack((kept | self._new).values()))

    def _read(self) -> None:
        found = read_file_info(self._root / FILE, limit=_LIMIT)
        if found is None:
            return
        data, info = found
        runs = self._root.stat()
        self._shared = bool(runs.st_mode & stat.S_ISGID and runs.st_mode & stat.S_IWGRP and info.st_gid == runs.st_gid)
        if info.st_nlink != 1 or info.st_mode & (stat.S_IWOTH if self._shared else stat.S_IWOTH | stat.S_IWGRP):
            return
        self._owner, self._group = info.st_uid, info.st_gid
        self._whole = self._unpack(data)

    def _unpack(self, data: bytes) -> bool:
        """Read the groups of lines; return False at the first that is damaged or of another format."""
        view, position = memoryview(data), 0
        decoder = JsonDecoder(_Entry)
        while position < len(data):
            begin = data.find(b"\n", position) + 1
            try:
                head = decode_as(view[position : begin - 1], _Head)
                end = begin + head.size
                part = view[begin:end]
                if head.format != FORMAT or head.fields != RunRow.__struct_fields__:
                    return False
                if not 0 < head.size == len(part) or crc32(part) != head.checksum:
                    return False
                self._entries.update((entry.row.run_id, entry) for entry in decoder.decode_lines(part))
            except ValueError:
                return False
            position = end
        return True

    def _append(self, data: bytes) -> None:
        descriptor = os.open(self._root / FILE, _FLAGS, 0o600)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_uid != os.geteuid():
                return
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.write(descriptor, data) != len(data):
                os.ftruncate(descriptor, info.st_size)  # the disk is full
        finally:
            os.close(descriptor)

    def _replace(self, data: bytes) -> None:
        temporary = self._root / f"{FILE}.{os.getpid()}.{os.urandom(4).hex()}"
        descriptor = os.open(temporary, _FLAGS | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            temporary.replace(self._root / FILE)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def stamp_of(run_id: str, place: int) -> Stamp | None:
    """Return which files a run has now; None when its trace is not in its directory.

    ``place`` is the open directory of runs: from there files are found in less time than by whole paths.
    """
    try:
        trace = os.stat(f"{run_id}/trace.jsonl", dir_fd=place, follow_symlinks=False)
    except OSError:
        return None
    known = (trace.st_ino, trace.st_size, trace.st_mtime_ns, trace.st_ctime_ns)
    try:
        meta = os.stat(f"{run_id}/meta.json", dir_fd=place, follow_symlinks=False)
    except OSError:
        return Stamp(known, None, trace.st_uid, trace.st_gid)
    other = (meta.st_ino, meta.st_size, meta.st_mtime_ns, meta.st_ctime_ns)
    return Stamp(known, other, trace.st_uid, trace.st_gid)


def _line(stamp: Stamp, row: RunRow) -> bytes:
    return msgspec_json.encode((stamp, astuple(row))) + b"\n"


def _pack(lines: Iterable[bytes]) -> bytes:
    part = b"".join(lines)
    head = _Head(format=FORMAT, fields=RunRow.__struct_fields__, size=len(part), checksum=crc32(part))
    return msgspec_json.encode(head) + b"\n" + part


__all__ = ["FILE", "Index", "Stamp", "stamp_of"]
