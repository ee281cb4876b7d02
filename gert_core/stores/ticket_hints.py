"""Hints to the runs that tickets are of, so that a ticket is found without looking into every run.

A hint is a file ``.tickets/<ticket id>`` below the directory of runs. It is believed only when its run has the ticket,
and what has none is looked for in all runs, so it may be missing, stale or damaged.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import RunError
from gert_core.kit.blob_names import is_answer, ticket_of
from gert_core.kit.files import read_file
from gert_core.runs.directory import is_run_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

DIRECTORY: Final = ".tickets"
"""The name of the directory with the hints; no run can have it, because it begins with a dot."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIMIT: Final = 4096


def note_ticket(runs: Path, name: str, run_id: str) -> None:
    """Write the hint of a blob that is the request of a ticket; for other blobs, and where it fails, do nothing."""
    if is_answer(name) or (ticket := ticket_of(name)) is None:
        return
    with suppress(OSError):
        folder = runs / DIRECTORY
        info = runs.stat()
        shared = bool(info.st_mode & stat.S_ISGID and info.st_mode & stat.S_IWGRP)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            if shared:
                folder.chmod(0o2770)
        with _opened(folder) as hints:
            # Made anew: what has the name may be another name of a file elsewhere.
            with suppress(FileNotFoundError):
                os.unlink(ticket, dir_fd=hints)
            descriptor = os.open(ticket, _FLAGS, 0o640 if shared else 0o600, dir_fd=hints)
            try:
                os.write(descriptor, f"{run_id}\n".encode())
            finally:
                os.close(descriptor)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Give the directory with the hints; raise ``OSError`` when a link is in its place, which leads elsewhere."""
    descriptor = os.open(folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def hinted_run(runs: Path, ticket: str) -> str | None:
    """Return the id of the run that a ticket may be of."""
    if "/" in ticket or ticket in ("", ".", ".."):
        return None
    with suppress(RunError, OSError):
        found = (read_file(runs / DIRECTORY / ticket, limit=_LIMIT) or b"").decode("utf-8", "replace").strip()
        return found if is_run_id(found) else None
    return None


def forget_tickets(runs: Path, names: Iterable[str]) -> None:
    """Delete the hints of the tickets among the blobs of a run that is deleted."""
    tickets = [ticket for name in names if not is_answer(name) and (ticket := ticket_of(name)) is not None]
    if not tickets:
        return
    with suppress(OSError), _opened(runs / DIRECTORY) as hints:
        for ticket in tickets:
            with suppress(OSError):
                os.unlink(ticket, dir_fd=hints)


__all__ = ["DIRECTORY", "forget_tickets", "hinted_run", "note_ticket"]
