"""Claim and reserve over all runs and processes that keep their runs below one directory."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.api.store_records import Claim, ClaimState, Total
from gert_core.api.stores import Ledger
from gert_core.kit.claims import is_replaceable, is_restorable
from gert_core.kit.durable import replace_file, sync_directory
from gert_core.kit.files import MIB, UnreadableError, decode_record, read_file
from gert_core.kit.sharing import user_name
from gert_core.kit.times import parse_time
from gert_core.trace.events import timestamp
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gert_core.api.data import Json
    from gert_core.api.store_records import LedgerEntry, Settled

DIRECTORY: Final = ".ledger"
"""The name of the ledger below the directory of runs; no run can have it, because it begins with a dot."""
_LIMIT: Final = MIB
_DOCUMENT_LIMIT: Final = 64 * MIB
_PATIENCE: Final = 10.0
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{2,200}")
_SHOWN: Final = 60
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Claimed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a key that is claimed."""

    owner: str
    state: ClaimState = "open"
    at: str = ""


class _Reserved(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a key under which amounts are reserved."""

    owner: str
    amount: str
    at: str


class _Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document of a key."""

    value: Any


class FileLedger(Ledger):
    """The ledger of a directory of runs: one file of JSON lines per key, locked while it is read and written.

    A document is a file of its own beside it, which is replaced as a whole.
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._root = runs / DIRECTORY

    def claim(self, key: str, owner: str, at: str, *, ttl: float | None = None) -> Claim:
        """Return who holds the key afterwards: ``owner``, or another who claimed it before and did not fail."""
        with self._opened(key) as (descriptor, path):
            held = _last(descriptor, path)
            if held is not None and held.owner != owner and not is_replaceable(held, at, ttl):
                return held
            if held is None or held.owner != owner or held.state != "open":
                held = Claim(owner=owner, at=at)
                _append(descriptor, {"owner": owner, "state": held.state, "at": at})
            os.fsync(descriptor)  # also a line that a killed process wrote and did not sync
            return held

    def settle(self, key: str, owner: str, state: Settled, at: str = "") -> bool:
        """Record how an open claim ended, and return True; False when the owner has none (any more)."""
        with self._opened(key) as (descriptor, path):
            held = _last(descriptor, path)
            if held is None or held.owner != owner or held.state != "open":
                return False
            _append(descriptor, {"owner": owner, "state": state, "at": at})
            os.fsync(descriptor)
            return True

    def reserve(self, key: str, owner: str, amount: Decimal, *, limit: Decimal, window: float | None = None) -> bool:
        """Reserve an amount unless the sum of the last ``window`` seconds would exceed ``limit``; return whether."""
        with self._opened(key) as (descriptor, path):
            now = datetime.now(UTC)
            others = _reserved(descriptor, path, now, window)
            others.pop(owner, None)
            if sum(others.values(), amount) > limit:
                return False
            _append(descriptor, {"owner": owner, "amount": str(amount), "at": timestamp(now)})
            os.fsync(descriptor)
            return True

    def total(self, key: str, window: float | None = None) -> Total:
        """Return what was reserved under a key in the last ``window`` seconds."""
        with self._opened(key) as (descriptor, path):
            found = _reserved(descriptor, path, datetime.now(UTC), window)
        return Total(count=len(found), amount=sum(found.values(), Decimal(0)))

    def put(self, key: str, value: Json) -> None:
        """Keep a document under a key, in place of the one before."""
        path = self._path(key, ".json")
        with _faults(path):
            shared = self._directories(path)
            replace_file(path, canonical({"value": value}) + b"\n", mode=0o660 if shared else 0o600)
            sync_directory(path.parent)

    def get(self, key: str) -> Json:
        """Return the document under a key; None when there is none."""
        path = self._path(key, ".json")
        with _faults(path):
            if not self._root.is_dir():
                return None
            self._check_owner(self._root)
            data = read_file(path, limit=_DOCUMENT_LIMIT)
            value: Json = None if data is None else decode_record(data, _Document, path=path).value
            return value

    def entries(self, run_id: str) -> Iterator[LedgerEntry]:
        """Yield what a run claimed and reserved; the file of every key is read for that."""
        from gert_core.stores.ledger_entries import read_entries

        with _faults(self._root):
            if self._root.is_dir():
                self._check_owner(self._root)
                yield from read_entries(self._root, run_id)

    def restore(self, entry: LedgerEntry) -> None:
        """Write an entry of another ledger; the same one again has no effect."""
        with self._opened(entry.key) as (descriptor, path):
            if entry.amount is not None:
                amount = {"owner": entry.owner, "amount": str(entry.amount), "at": entry.at}
                if (json.dumps(amount, ensure_ascii=False).encode()) not in _lines(descriptor, path):
                    _append(descriptor, amount)
            elif is_restorable(_last(descriptor, path), entry):
                _append(descriptor, {"owner": entry.owner, "state": str(entry.state), "at": entry.at})
            os.fsync(descriptor)

    def problem(self) -> str | None:
        """Return why nothing could be claimed, as far as that can be found out without writing; None if it could."""
        try:
            info = self._root.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"{self._root} cannot be read: {error.strerror}"
        if not stat.S_ISDIR(info.st_mode):
            return f"{self._root} is not a directory"
        if not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
            return f"{self._root} cannot be written by this user; it belongs to user {user_name(info.st_uid)}"
        try:
            self._check_owner(self._root)
        except UnreadableError as error:
            return error.message
        return None

    def _path(self, key: str, suffix: str) -> Path:
        """Return the file of a key; raise ``RunError`` for one that gert does not make, which could lead elsewhere."""
        if _KEY.fullmatch(key) is None:
            raise _fault(f"{ascii(key)[:_SHOWN]} is not a key of a ledger")
        return self._root / key[:2] / f"{key}{suffix}"

    @contextmanager
    def _opened(self, key: str) -> Iterator[tuple[int, Path]]:
        """Open and lock the file of a key; errors of the system become ``RunError``."""
        path = self._path(key, ".jsonl")
        with _faults(path):
            shared = self._directories(path)
            descriptor = os.open(path, _FLAGS, 0o600)
            try:
                self._check(descriptor, path, shared=shared)
                _lock(descriptor, path)
                if os.fstat(descriptor).st_size == 0:
                    sync_directory(path.parent)
                yield descriptor, path
            finally:
                os.close(descriptor)

    def _directories(self, path: Path) -> bool:
        """Make the directories of a key; return whether a group shares them, as it shares the directory of runs."""
        if not self._runs.is_dir():
            self._runs.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_directory(self._runs.parent)
        shared = _is_shared(self._runs.stat())
        for folder in (self._root, path.parent):
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                pass
            else:
                if shared:
                    folder.chmod(0o2770)
                sync_directory(folder.parent)
            self._check_owner(folder)
        return shared

    def _check_owner(self, folder: Path) -> None:
        """Raise ``UnreadableError`` unless a directory is root's, this user's, the runs' owner's or their group's."""
        info, found = self._runs.stat(), folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise UnreadableError(folder, "is not a directory")
        shared = _is_shared(info) and found.st_gid == info.st_gid
        if found.st_uid not in {0, os.geteuid(), info.st_uid} and not shared:
            raise UnreadableError(folder, f"belongs to user {user_name(found.st_uid)}")

    def _check(self, descriptor: int, path: Path, *, shared: bool) -> None:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise UnreadableError(path, "is not a regular file")
        if info.st_nlink != 1:
            raise UnreadableError(path, f"has {info.st_nlink} names")
        if shared and info.st_size == 0 and info.st_uid == os.geteuid():
            os.fchmod(descriptor, 0o660)


def _is_shared(runs: os.stat_result) -> bool:
    """Return whether a group shares the directory of runs."""
    return bool(runs.st_mode & stat.S_ISGID and runs.st_mode & stat.S_IWGRP)


def ledger_key(*parts: object) -> str:
    """Return the key of what is claimed; the parts are masked values, or have no secrets."""
    return hashlib.sha256(canonical(list(parts))).hexdigest()


def _last(descriptor: int, path: Path) -> Claim | None:
    """Return the claim that stands."""
    held: _Claimed | None = None
    for line in _lines(descriptor, path):
        held = decode_record(line, _Claimed, path=path)
    return None if held is None else Claim(owner=held.owner, state=held.state, at=held.at)


def _reserved(descriptor: int, path: Path, now: datetime, window: float | None) -> dict[str, Decimal]:
    """Return by owner what counts at this moment; the last line of an owner is the one that counts."""
    found: dict[str, Decimal] = {}
    for line in _lines(descriptor, path):
        one = decode_record(line, _Reserved, path=path)
        found.pop(one.owner, None)
        try:
            recent = window is None or (now - parse_time(one.at)).total_seconds() < window
            if recent:
                found[one.owner] = Decimal(one.amount)
        except (ValueError, InvalidOperation):
            raise UnreadableError(path, f"is damaged: {one.amount!r} at {one.at!r} is not an amount") from None
    return found


def _lines(descriptor: int, path: Path) -> list[bytes]:
    """Return the lines of a key; cut off one without an end, whose writer was killed before it acted on it."""
    size = os.fstat(descriptor).st_size
    if size > _LIMIT:
        raise UnreadableError(path, f"is larger than {_LIMIT // MIB} MiB")
    data = os.pread(descriptor, _LIMIT, 0)
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.ftruncate(descriptor, whole)
    return data[:whole].splitlines()


def _append(descriptor: int, facts: Mapping[str, str]) -> None:
    data = json.dumps(facts, ensure_ascii=False).encode() + b"\n"
    if os.write(descriptor, data) != len(data):
        raise OSError(None, "the disk is full")


def _lock(descriptor: int, path: Path) -> None:
    """Lock a file, which others hold for the time of one write."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise UnreadableError(path, "is locked by another process") from None
            time.sleep(0.01)
        else:
            return


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn errors of the system and of damaged files into ``RunError``."""
    try:
        yield
    except OSError as error:
        raise _fault(f"{path} cannot be written: {error.strerror}") from None
    except UnreadableError as error:
        raise _fault(error.message) from None


def _fault(reason: str) -> RunError:
    return RunError(
        f"the ledger of executions cannot be used: {reason}",
        kind=ErrorKind.LEDGER,
        hint="nothing was executed; repair it or make it writable for this user, then resume the run",
    )


__all__ = ["DIRECTORY", "FileLedger", "ledger_key"]
