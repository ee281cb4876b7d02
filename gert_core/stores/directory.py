"""The store that keeps each run in a directory of its own: ``file:PATH``, which is part of the core."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.api.store_records import BLOB_LIMIT, Blob, BlobInfo, Lease, Recovered, SchemaInfo
from gert_core.api.stores import RunStore, StoredRun
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import UnreadableError
from gert_core.kit.owners import Owners, account_name
from gert_core.runs.directory import check_run_id
from gert_core.runs.meta import read_meta
from gert_core.stores.files import Files
from gert_core.stores.lock import LockFile
from gert_core.stores.trace_file import TraceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gert_core.api.context import Deadline
    from gert_core.api.store_records import RunQuery, RunRow, StoreServices, TicketRow
    from gert_core.api.stores import Ledger, Sink

SCHEME: Final = "file"


class DirectoryRun(StoredRun):
    """One run's directory: mode 0700, files 0600, no symbolic links followed.

    It holds ``trace.jsonl`` (or ``meta.json`` records its path), the blobs, ``lock`` and, while programs run,
    ``children``.
    """

    path: Path

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.run_id = path.name
        self._owners: Owners | None = None
        self._lock = LockFile(path / "lock")
        self._files = Files(path)
        self._trace: TraceFile | None = None
        self._fresh = fresh

    @property
    def owners(self) -> Owners:
        """Whose files are believed here; raise ``UnreadableError`` when there is no such directory."""
        if self._owners is None:
            self._owners = Owners.of(self.path)
        return self._owners

    @property
    def place(self) -> str:
        """The path of the trace."""
        return str(self.trace.path)

    @property
    def started(self) -> bool:
        """Whether there is a file with the trace, or a link in its place."""
        return os.path.lexists(self._trace_path(read_meta(self)))

    @property
    def torn(self) -> int:
        """How many bytes a crash left behind the last complete line."""
        return self.trace.torn

    @property
    def foreign(self) -> bool:
        """Whether this process runs as another user than the owner of the directory."""
        return self.owners.foreign

    @property
    def owner(self) -> str:
        """The account of the owner of the directory; empty when there is no such directory."""
        try:
            return account_name(self.owners.owner)
        except UnreadableError:
            return ""

    def check_owner(self) -> None:
        """Refuse to continue the run of another user that no group shares."""
        self.owners.refuse_foreign(self.run_id)

    @property
    def trace(self) -> TraceFile:
        """The trace: in the directory unless ``meta.json`` records another path."""
        if self._trace is None:
            self._trace = TraceFile(self._find_trace(), owners=self.owners, fresh=self._fresh)
        return self._trace

    def _find_trace(self) -> Path:
        meta = read_meta(self)
        path = self._trace_path(meta)
        if not meta and not self._fresh and not os.path.lexists(path) and os.access(self.path, os.X_OK):
            raise RunError(
                f"run {self.run_id} has no trace.jsonl, and the meta.json that names a trace elsewhere is missing",
                kind=ErrorKind.RUN_DIRECTORY,
                hint=f"restore meta.json, or move the trace to {path}",
            )
        return path

    def _trace_path(self, meta: Mapping[str, object]) -> Path:
        elsewhere = meta.get("trace")
        if not isinstance(elsewhere, str):
            return self.path / "trace.jsonl"
        path = Path(elsewhere)
        # A path given by the user may be a link; in the directory itself links are not followed.
        return path.resolve() if os.path.islink(path) else path  # noqa: PTH114 - opening it reports errors

    # -- lines ----------------------------------------------------------------------------------------------

    def lines(self, since_seq: int = 0) -> Iterator[bytes]:
        """Yield the lines behind a number, and what a crash left of the last write."""
        return self.trace.lines(since_seq)

    def line(self, seq: int) -> bytes:
        """Return one line by its number."""
        return self.trace.line(seq)

    def last_line(self) -> bytes:
        """Return the last complete line."""
        return self.trace.last_line()

    def sink(self, *, seq: int, lease: Lease | None) -> Sink:
        """Open the trace for writing."""
        if lease is None or lease != self._lock.lease:
            raise StoreError(f"run {self.run_id} is not held by this worker", kind=ErrorKind.LEASE_LOST)
        return self.trace.sink(seq)

    def recover(self) -> Recovered:
        """Cut off what a crash left behind the last complete line."""
        return self.trace.recover(aside=self.path / "trace.torn")

    def wait(self, since_seq: int, deadline: Deadline) -> bool:
        """Return True when the trace has grown."""
        return self.trace.wait(since_seq, deadline)

    # -- blobs ----------------------------------------------------------------------------------------------

    def blob(self, name: str, *, limit: int = BLOB_LIMIT) -> Blob | None:
        """Return a file; links are not followed."""
        return self._files.read(name, self.owners, limit=limit)

    def info(self, name: str) -> BlobInfo | None:
        """Return size and time of a file."""
        return self._files.info(name)

    def put(self, name: str, data: bytes | Iterable[bytes], *, new: bool = False, durable: bool = True) -> None:
        """Write a file; of the request of a ticket, also the hint to its run."""
        self._files.write(name, data, new=new, durable=durable)
        if name.startswith("tickets/"):
            from gert_core.stores.ticket_hints import note_ticket

            note_ticket(self.path.parent, name, self.run_id)

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file."""
        self._files.append(name, data)

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the files."""
        return self._files.names(prefix)

    def delete(self, name: str) -> bool:
        """Delete a file."""
        return self._files.delete(name)

    def remove(self) -> None:
        """Delete the directory; a trace elsewhere, which a person named, stays."""
        from gert_core.stores.removal import remove_run
        from gert_core.stores.ticket_hints import forget_tickets

        with suppress(RunError):
            forget_tickets(self.path.parent, self.names("tickets/"))
        remove_run(self.path)

    # -- leases ---------------------------------------------------------------------------------------------

    def acquire(self, worker_id: str, ttl: float) -> Lease | None:
        """Lock the run until ``release`` or the end of the process, however it ends."""
        return self._lock.acquire(worker_id, self.owners)

    def renew(self, lease: Lease, ttl: float) -> bool:
        """Return whether the lock is held, which does not expire."""
        return lease == self._lock.lease

    def release(self, lease: Lease) -> bool:
        """Unlock the run."""
        return self._lock.release(lease)

    def holder(self) -> Lease | None:
        """Return the lease of the process that executes this run right now."""
        return self._lock.holder(self.owners)

    def close(self) -> None:
        """Close the trace."""
        if self._trace is not None:
            self._trace.close()


class DirectoryStore(RunStore):
    """The runs below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = f"{SCHEME}:{root}"

    @property
    def place(self) -> str:
        """The directory of runs."""
        return str(self.root)

    def schema_info(self) -> SchemaInfo:
        """Return what the store is."""
        return SchemaInfo(backend="file")

    def create(self, run_id: str, *, blobs: Mapping[str, bytes]) -> DirectoryRun:
        """Create the directory of a new run, synced to disk before anything is written into it."""
        root, path = self.root, self.root / check_run_id(run_id)
        try:
            make_root(root)
            path.mkdir(mode=0o700)
            sync_directory(root)
        except OSError as error:
            raise not_created(path, error) from None
        run = DirectoryRun(path, fresh=True)
        run.option = self.option
        for name, data in blobs.items():
            run.put(name, data)
        return run

    def import_run(
        self,
        run_id: str,
        *,
        lines: Callable[[], Iterable[bytes]],
        blobs: Callable[[], Iterable[tuple[str, bytes]]],
    ) -> DirectoryRun:
        """Write the files of a run of another store into a directory that gets its name last."""
        from gert_core.stores.imports import import_run

        return DirectoryRun(import_run(self.root, check_run_id(run_id), lines(), blobs()))

    def open(self, run_id: str) -> DirectoryRun:
        """Open the directory of an existing run."""
        path = self.root / check_run_id(run_id)
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        except OSError as error:
            raise StoreError(
                f"the run directory {path} cannot be read: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY
            ) from None
        if stat.S_ISLNK(mode):
            raise StoreError(f"the run directory {path} is a symbolic link", kind=ErrorKind.RUN_DIRECTORY)
        if not stat.S_ISDIR(mode):
            raise StoreError(
                f"there is no run {run_id} in {self.root}",
                kind=ErrorKind.RUN_NOT_FOUND,
                hint=f"gert runs list{self.option} shows the runs",
            )
        run = DirectoryRun(path)
        run.option = self.option
        return run

    def run_ids(self) -> Iterator[str]:
        """Yield the ids of all runs, the newest first; raise ``RunError`` when they cannot be listed."""
        from gert_core.stores.listed import newest_first

        return newest_first(self.root)

    def runs(self, query: RunQuery) -> Iterator[RunRow]:
        """Yield the runs that a query asks for, those that ended by their index, others folded in turn."""
        from gert_core.stores.listed import list_rows

        return list_rows(self.root, query)

    def tickets(
        self,
        *,
        status: str | None = None,
        runbook: str | None = None,
        step_id: str | None = None,
        ticket_id: str | None = None,
    ) -> Iterator[TicketRow]:
        """Yield the tickets of all runs; one whose files cannot be read is left to those who look at its run."""
        from gert_core.stores.tickets import find_tickets

        asked = {"status": status, "runbook": runbook, "step_id": step_id}
        return find_tickets(self, ticket_id, {name: value for name, value in asked.items() if value is not None})

    def tidy(self) -> None:
        """Delete what is left of directories that were being deleted."""
        from gert_core.stores.removal import remove_rests

        remove_rests(self.root)

    def ledger(self) -> Ledger:
        """Return the ledger of the store."""
        from gert_core.stores.ledger import FileLedger

        return FileLedger(self.root)


def make_root(root: Path) -> None:
    """Make the directory of runs if there is none."""
    if not root.is_dir():
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_directory(root.parent)


def not_created(path: Path, error: OSError) -> StoreError:
    """Return the error for the directory of a run that cannot be made."""
    if isinstance(error, FileExistsError) and path.parent.is_dir():
        return StoreError(f"there is a run {path.name} in {path.parent} already", kind=ErrorKind.RUN_EXISTS)
    return StoreError(
        f"the run directory {path} cannot be created: {error.strerror}",
        kind=ErrorKind.RUN_DIRECTORY,
        hint="work in a writable directory, or set runs_dir in gert-project.yaml",
    )


def open_store(url: str, services: StoreServices) -> DirectoryStore:
    """Open the store of an address ``file:PATH``, whose path begins at the project's root."""
    path = url.partition(":")[2].removeprefix("//")
    return DirectoryStore(services.root / path)


__all__ = ["SCHEME", "DirectoryRun", "DirectoryStore", "make_root", "not_created", "open_store"]
