"""List the runs below a directory, those that ended by their index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.run_rows import MOVED, matcher
from gert_core.runs.directory import is_run_id
from gert_core.stores.index import Index, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.store_records import RunQuery, RunRow


def list_rows(root: Path, query: RunQuery) -> Iterator[RunRow]:
    """Yield the rows of the runs under ``root`` that are asked for, newest first; runs that ended by their index."""
    try:
        place = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _not_listed(root, error) from None
    index, left = Index(root), query.limit
    complete, skipping, wanted = False, query.before is not None, matcher(query)
    try:
        for name in newest_first(root):
            if skipping:
                skipping = name != query.before
                continue
            if (row := index.row(name, place)) is None:
                row = _new_row(index, root, name, place)
            if not wanted(row):
                continue
            yield row
            if left is not None and (left := left - 1) <= 0:
                return
        complete = query.before is None
    finally:
        os.close(place)
        index.save(complete=complete)


def _new_row(index: Index, root: Path, name: str, place: int) -> RunRow:
    """Make the row of a run that the index does not have; only this needs what reads traces."""
    from gert_core.runs.listing import run_info
    from gert_core.runs.rows import row_of
    from gert_core.stores.directory import DirectoryRun
    from gert_core.stores.quick_rows import row_of_directory

    stamp = stamp_of(name, place)
    if stamp is not None and (quick := row_of_directory(root / name)) is not None:
        if not stamp.fresh and stamp == stamp_of(name, place):
            index.add(quick, stamp)
        return quick
    info = run_info(DirectoryRun(root / name), cached=True)
    row = row_of(info)
    over = info.state is not None and (info.state.over or row.status == MOVED)
    ended = over and not info.live and info.trace == root / name / "trace.jsonl"
    if ended and stamp is not None and not stamp.fresh and stamp == stamp_of(name, place):
        index.add(row, stamp)
    return row


def newest_first(root: Path) -> Iterator[str]:
    """Yield the names of the runs under ``root``: by the second in them, and of one second by their first file."""
    try:
        with os.scandir(root) as found:
            names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _not_listed(root, error) from None
    # No character of an id is smaller than the dash behind its second, so that ids of one second stay together.
    known = sorted(filter(is_run_id, names), reverse=True)
    seconds = [name.partition("-")[0] for name in known]
    begin, count = 0, len(known)
    while begin < count:
        end = begin + 1
        while end < count and seconds[end] == seconds[begin]:
            end += 1
        if end == begin + 1:
            yield known[begin]
        else:
            yield from sorted(known[begin:end], key=lambda name: (_written(root / name), name), reverse=True)
        begin = end


def _not_listed(root: Path, error: OSError) -> RunError:
    return RunError(f"{root} cannot be read: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY)


def _written(path: Path) -> int:
    """Return when the first file of a run was written."""
    try:
        return os.lstat(path / "meta.json").st_mtime_ns
    except OSError:
        return 0


__all__ = ["list_rows", "newest_first"]
