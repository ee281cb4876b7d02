"""Write a run of another store into the directory of runs, where after a crash it is as a whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.kit.durable import sync_directory
from gert_core.stores.directory import make_root, not_created
from gert_core.stores.files import Files
from gert_core.stores.removal import IMPORTED
from gert_core.stores.ticket_hints import note_ticket

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def import_run(root: Path, run_id: str, lines: Iterable[bytes], blobs: Iterable[tuple[str, bytes]]) -> Path:
    """Return the directory of the run, which has all its files and is on disk; raise ``run_exists``."""
    path = root / run_id
    try:
        make_root(root)
        if os.path.lexists(path):
            raise FileExistsError
        with _aside(root / f"{IMPORTED}{run_id}-{os.urandom(4).hex()}") as folder:
            files = Files(folder)
            names = []
            for name, data in blobs:
                files.write(name, data)
                names.append(name)
            _write_lines(folder / "trace.jsonl", lines)
            sync_directory(folder)
            if os.path.lexists(path):
                raise FileExistsError
            folder.rename(path)
        sync_directory(root)
        for name in names:
            note_ticket(root, name, run_id)
    except RunError:
        raise
    except FileExistsError as error:
        raise not_created(path, error) from None
    except OSError as error:
        raise StoreError(
            f"run {run_id} cannot be written to {root}: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY
        ) from None
    return path


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """Make a directory that is deleted unless it gets another name; while it is locked, no other process does so."""
    folder.mkdir(mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)


_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with os.fdopen(os.open(path, _FLAGS, 0o600), "wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())


__all__ = ["import_run"]
