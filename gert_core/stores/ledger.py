"""Claim something once, over all runs and processes that keep their runs below one directory."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import MIB, UnreadableError, decode_record
from gert_core.kit.sharing import user_name
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Settled = Literal["success", "failed", "unknown"]

DIRECTORY: Final = ".ledger"
"""The name of the ledger below the directory of runs; no run can have it, because it begins with a dot."""
_LIMIT: Final = MIB
_PATIENCE: Final = 10.0
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Claim(Struct, frozen=True, kw_only=True):
    """Who holds a key: the owner, and how far it got (``open``, then ``success``, ``failed`` or ``unknown``)."""

    owner: str
    state: Literal["open", "success", "failed", "unknown"] = "open"
    at: str = ""


class Ledger:
    """The ledger of a directory of runs: one file of JSON lines per key, locked while it is read and written.

    Every change is on disk when its method returns. What cannot be read or written raises ``RunError`` with the kind
    ``ledger``, so that nothing is done for which a claim was needed.
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._root = runs / DIRECTORY

    def claim(self, key: str, owner: str, at: str) -> Claim:
        """Return who holds the key afterwards: ``owner``, or another who claimed it before and did not fail."""
        with self._opened(key) as (descriptor, path):
            held = _last(descriptor, path)
            if held is not None and held.state != "failed" and held.owner != owner:
                return held
            if held is None or held.owner != owner or held.state != "open":
                held = Claim(owner=owner, at=at)
                _append(descriptor, held)
            os.fsync(descriptor)  # also a line that a killed process wrote and did not sync
            return held

    def settle(self, key: str, owner: str, state: Settled, at: str) -> bool:
        """Record how an open claim ended, and return True; False when the owner has none (any more).

        A key that failed can be claimed by others.
        """
        with self._opened(key) as (descriptor, path):
            held = _last(descriptor, path)
            if held is None or held.owner != owner or held.state != "open":
                return False
            _append(descriptor, Claim(owner=owner, state=state, at=at))
            os.fsync(descriptor)
            return True

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

    @contextmanager
    def _opened(self, key: str) -> Iterator[tuple[int, Path]]:
        """Open and lock the file of a key; errors of the system become ``RunError``."""
        path = self._root / key[:2] / f"{key}.jsonl"
        try:
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
        except OSError as error:
            raise _fault(f"{path} cannot be written: {error.strerror}") from None
        except UnreadableError as error:
            raise _fault(error.message) from None

    def _directories(self, path: Path) -> bool:
        """Make the directories of a key; return whether a group shares them, as it shares the directory of runs."""
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
    """Return the claim that stands; cut off a line without an end, whose writer was killed before it acted on it."""
    size = os.fstat(descriptor).st_size
    if size > _LIMIT:
        raise UnreadableError(path, f"is larger than {_LIMIT // MIB} MiB")
    data = os.pread(descriptor, _LIMIT, 0)
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.ftruncate(descriptor, whole)
    held: Claim | None = None
    for line in data[:whole].splitlines():
        held = decode_record(line, Claim, path=path)
    return held


def _append(descriptor: int, claim: Claim) -> None:
    line = json.dumps({"owner": claim.owner, "state": claim.state, "at": claim.at}, ensure_ascii=False) + "\n"
    data = line.encode()
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


def _fault(reason: str) -> RunError:
    return RunError(
        f"the ledger of executions cannot be used: {reason}",
        kind=ErrorKind.LEDGER,
        hint="nothing was executed; repair it or make it writable for this user, then resume the run",
    )


__all__ = ["DIRECTORY", "Claim", "Ledger", "Settled", "ledger_key"]
