"""Check the file of runs for ``gert doctor``: who may change it, how much room it has, and whether it is whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from gert_core.api import CheckResult
from gert_core.kit.files import MIB

if TYPE_CHECKING:
    from gert_core.api import CheckServices, Deadline

_LEAST: Final = 100 * MIB
_STEPS: Final = 1_000
"""After how many instructions of SQLite the deadline is looked at."""


def check_file(services: CheckServices) -> CheckResult | None:
    """Return what is found about the file; None when runs are kept elsewhere."""
    if services.store is None or not services.store.url.startswith("sqlite:"):
        return None
    path = Path(services.store.url.removeprefix("sqlite:"))
    try:
        found = path.stat()
    except FileNotFoundError:
        return CheckResult(
            status="ok", message=f"{path} does not exist yet; the first run makes it, for this user only"
        )
    except OSError as error:
        return _fail(f"{path} cannot be read: {error.strerror}", "make it readable for this user")
    if not stat.S_ISREG(found.st_mode):
        return _fail(f"{path} is not a file", "name another file, such as sqlite:runs.db")
    if found.st_mode & stat.S_IWOTH:
        return _fail(f"{path} is writable by everybody", f"chmod o-w {path}")
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        hint = "SQLite writes the file and others beside it: make both writable for this user"
        return _fail(f"{path} and its directory cannot be written", hint)
    free = os.statvfs(path.parent)
    if (left := free.f_bavail * free.f_frsize) < _LEAST:
        return _fail(f"{path} has {left // MIB} MiB left", "make room: a run stops when its trace cannot grow")
    return _whole(path, found.st_size, services.deadline)


def _whole(path: Path, size: int, deadline: Deadline) -> CheckResult:
    """Let SQLite look at every page of the file."""
    import sqlite3  # not where runs are kept elsewhere

    said = f"{path} has {size / MIB:.1f} MiB"
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=2)
        try:
            connection.set_progress_handler(lambda: int(_is_over(deadline)), _STEPS)
            (word,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        if _is_over(deadline):
            hint = "the file is large: `PRAGMA quick_check` of the program sqlite3 takes its time"
            return CheckResult(status="warn", message=f"{said}; looking at all of it takes too long", hint=hint)
        return _fail(f"{path} cannot be read: {error}", "restore a backup, or name another file")
    if word != "ok":
        return _fail(f"{path} is damaged: {word}", "restore a backup; `gert runs export` gives out what can be read")
    return CheckResult(status="ok", message=f"{said} and is whole (SQLite {sqlite3.sqlite_version})")


def _is_over(deadline: Deadline) -> bool:
    left = deadline.remaining()
    return deadline.stopped or (left is not None and left < 1)  # one second is left to say so


def _fail(message: str, hint: str) -> CheckResult:
    return CheckResult(status="fail", message=message, hint=hint)


__all__ = ["check_file"]
