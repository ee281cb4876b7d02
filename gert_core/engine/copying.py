"""Copy a run to another store, or move it there: exact lines and blobs, and nothing in two places that goes on."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind, EventType, RunError, StoreError
from gert_core.engine.holding import hold
from gert_core.runs.directory import check_run_id
from gert_core.runs.export import CheckedLines, CopiedBlobs, blob_names
from gert_core.runs.meta import read_meta
from gert_core.runs.moved import Moved, mark, moved, refuse_moved
from gert_core.trace.events import timestamp
from gert_core.trace.reader import altered, decode

if TYPE_CHECKING:
    from gert_core.api import RunStore, StoredRun, TraceEvent


class Copied(Struct, frozen=True, kw_only=True):
    """What became of a run: ``copied``, ``moved``, or ``there`` when the other store has it already."""

    run_id: str
    what: str
    events: int = 0
    blobs: int = 0
    torn: int = 0
    """How many bytes behind the last event were left behind, because they are not a complete one."""
    changed: tuple[str, ...] = ()
    """The files that steps kept and that are missing or have another content than was recorded."""

    def to_json(self) -> dict[str, object]:
        """Return an entry of ``gert store copy --json``."""
        return {
            "run_id": self.run_id,
            "what": self.what,
            "events": self.events,
            "blobs": self.blobs,
            "torn_bytes": self.torn,
            "changed": list(self.changed),
        }


def copy_run(source: RunStore, run_id: str, target: RunStore, *, output: bool = True) -> Copied:
    """Copy a run that is over to another store; ``output`` of tools too.

    It is in the other store as a whole or not at all. Raise ``RunError``: ``run_unfinished``, ``run_locked`` when a
    process executes it, ``run_moved``, ``run_exists`` when the other store has another run of this id.
    """
    with source.open(run_id) as run:
        refuse_moved(run)
        if run.holder() is not None:
            raise RunError(
                f"run {run_id} is being executed", kind=ErrorKind.RUN_LOCKED, hint="wait until it has finished"
            )
        _refuse_unfinished(run)
        found = _there(target, run)
        if found is not None and _same(found, run):
            return Copied(run_id=run_id, what="there")
        if found is not None:
            raise _exists(run_id, target)
        return _transfer(source, run, target, output=output)


def move_run(source: RunStore, run_id: str, target: RunStore, *, by: str, output: bool = True) -> Copied:
    """Move a run to another store, whatever it waits for; here it stays as it is, and cannot go on.

    The mark that it moves is here before it is there, so that after a crash it goes on in no store until the move is
    repeated. Raise ``RunError`` as ``copy_run`` does.
    """
    with ExitStack() as stack:
        run = stack.enter_context(source.open(run_id))
        run.check_owner()
        hold(run, stack)
        begun = moved(read_meta(run))
        if begun is not None and (begun.done or begun.to != target.url):
            refuse_moved(run)
        torn = run.recover().torn
        found = _there(target, run)
        going = begun or Moved(to=target.url, at=timestamp(datetime.now(UTC)), by=by, done=False)
        if found is not None and not _continues(found, run):
            _make_way(found, run, target)
            found = None
        if begun is None:
            mark(run, going)
        done = Copied(run_id=run_id, what="moved", events=_seq(run))
        if found is None:
            try:
                done = replace(_transfer(source, run, target, output=output), what="moved")
            except Exception:
                if _there(target, run) is None:
                    mark(run, None)
                raise
        mark(run, replace(going, done=True))
    return replace(done, torn=torn)


def _transfer(source: RunStore, run: StoredRun, target: RunStore, *, output: bool) -> Copied:
    """Write a run into a store that does not have it, the entries of the ledger first, and read it again there."""
    check_run_id(run.run_id)
    lines, names = CheckedLines(run), blob_names(run, output=output)
    blobs = CopiedBlobs(run, names)
    ledger = None
    for entry in source.ledger().entries(run.run_id):
        ledger = ledger or target.ledger()
        ledger.restore(entry)
    with target.import_run(run.run_id, lines=lines, blobs=blobs) as copy:
        again = CheckedLines(copy)
        for _ in again():
            pass
        chain = lines.chain
        if (again.chain.events, again.chain.prev_hash) != (chain.events, chain.prev_hash):
            raise RunError(f"{copy.place} does not have what was written to it", kind=ErrorKind.TRACE)
    changed = tuple(lines.files.changed(blobs.digests))
    done = Copied(run_id=run.run_id, what="copied", events=chain.events, blobs=len(names), torn=chain.torn)
    return replace(done, changed=changed)


def _there(target: RunStore, run: StoredRun) -> StoredRun | None:
    """Return the run of the same id in the other store."""
    try:
        return target.open(run.run_id)
    except StoreError as error:
        if error.kind != ErrorKind.RUN_NOT_FOUND:
            raise
        return None


def _same(found: StoredRun, run: StoredRun) -> bool:
    """Return whether a run is the same, by its last line and the chain before it; raise ``TraceError`` if it broke."""
    with found:
        if found.last_line() != run.last_line():
            return False
        for _ in CheckedLines(found)():
            pass
        return True


def _continues(found: StoredRun, run: StoredRun) -> bool:
    """Return whether a run of the other store has all lines of this one, and may go on there."""
    last = run.last_line()
    return bool(last) and moved(read_meta(found)) is None and found.line(_seq(run)) == last


def _make_way(found: StoredRun, run: StoredRun, target: RunStore) -> None:
    """Delete what a run left in the store that it is moved back to; raise ``run_exists`` for any other."""
    with found:
        told, last = moved(read_meta(found)), found.last_line()
        if told is None or not told.done or not last or run.line(_seq(found)) != last:
            raise _exists(run.run_id, target)
        found.remove()


def _seq(run: StoredRun) -> int:
    last = _last_event(run)
    return 0 if last is None else last.seq


def _last_event(run: StoredRun) -> TraceEvent | None:
    line = run.last_line()
    try:
        return decode(line) if line else None
    except ValueError as error:
        raise altered(run.place, error) from None


def _refuse_unfinished(run: StoredRun) -> None:
    last = _last_event(run)
    if last is not None and last.type == EventType.RUN_COMPLETE:
        return
    raise RunError(
        f"run {run.run_id} is not over, and in two stores it could go on twice",
        kind=ErrorKind.RUN_UNFINISHED,
        hint="add --move: it goes on in the other store then",
    )


def _exists(run_id: str, target: RunStore) -> StoreError:
    return StoreError(
        f"there is a run {run_id} in {target.place} already, with other events",
        kind=ErrorKind.RUN_EXISTS,
        hint="find out which one is to stay, and delete the other",
    )


__all__ = ["Copied", "copy_run", "move_run"]
