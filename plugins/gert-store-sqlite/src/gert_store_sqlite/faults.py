"""Say in one sentence what is wrong with a SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from gert_core.api import StoreError

NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "fuse.sshfs", "lustre"})
"""Types of file systems whose files several machines see; the locks of SQLite do not hold there."""
_MOUNTS: Final = Path("/proc/self/mounts")
_WHY: Final[dict[int, tuple[str, str | None]]] = {
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "free disk space, then resume the run"),
    sqlite3.SQLITE_BUSY: (
        "is locked by another process for more than 10 seconds",
        "end the program that holds it, or keep runs of many writers in another store",
    ),
    sqlite3.SQLITE_NOTADB: ("is not a SQLite database", "name another file, or move this one"),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "restore a backup; .recover of the sqlite3 program saves what it can",
    ),
    sqlite3.SQLITE_READONLY: (
        "cannot be written by this user",
        "make the file and its directory writable, or name another file",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "make the file and its directory readable and writable, or name another file",
    ),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written: the disk reports an error",
        "look at the disk, then resume the run",
    ),
}


def told(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the sentence for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of it says where in SQLite
    why, hint = _WHY.get(code, (f"cannot be used: {error}", None))
    return StoreError(f"{path} {why}", file=str(path), hint=hint)


def refuse_network(path: Path) -> None:
    """Raise ``StoreError`` for a file on a network file system, where that can be seen."""
    place, kind = "", ""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
        real = str(path.resolve())
    except OSError:
        return
    for line in mounts:
        _, mount, found, *_ = [*line.split(" "), "", ""]
        if len(mount) >= len(place) and (real == mount or real.startswith(mount.rstrip("/") + "/")):
            place, kind = mount, found
    if kind in NETWORK:
        raise StoreError(
            f"{path} is on a network file system ({kind}), where the locks of SQLite do not hold",
            file=str(path),
            hint="name a file on a disk of this machine, or keep runs of several machines in another store",
        )


__all__ = ["NETWORK", "refuse_network", "told"]
