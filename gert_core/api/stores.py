"""Run stores, which keep the lines, blobs and leases of runs: the interface that every store has.

A store keeps bytes. The core encodes, chains, signs and checks the lines of a trace, and decides what a blob holds;
a store gives back exactly what it was given, lets one worker at a time write a run, and never writes for one that has
lost its lease. Names of blobs are the paths they have in a directory: ``meta.json``, ``state.json``, ``trace.torn``,
``tickets/<id>.json``, ``tickets/<id>.answers/<n>-<hex>.json``, ``attachments/<name>``, ``output/<name>``.

Methods raise ``StoreError``, an ``OSError`` with a kind, or another ``RunError`` for what is kept and cannot be read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gert_core.api.ledgers import Ledger
from gert_core.api.store_records import BLOB_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from gert_core.api.context import Deadline
    from gert_core.api.store_records import (
        Blob,
        BlobInfo,
        Lease,
        Recovered,
        RunQuery,
        RunRow,
        SchemaInfo,
        TicketRow,
    )


class Sink(ABC):
    """Where the lines of one run go; the writer calls ``write`` from one thread at a time, ``sync`` from any.

    Every method raises ``OSError`` when it fails (``StoreError`` is one), which is final. A sink of a database may
    hold groups back for ``HOLD_SECONDS`` or ``HOLD_BYTES``; a thread writes them then, and what goes wrong there is
    raised by the next call. Each write is one statement that has an effect only while ``fence`` is the lease's and
    ``last_seq`` is the number before the first line; else it is ``lease_lost`` and nothing more is written.
    """

    on_stored: Callable[[int], None] | None = None
    """Called with the number of the last line that readers can see now; set before the first ``write``."""
    place: str = ""
    """How messages name the trace."""

    @abstractmethod
    def write(self, lines: Sequence[bytes], last: int) -> None:
        """Take a group of lines, given without their line ends; ``last`` is the number of the last one.

        A group that fails leaves complete lines only.
        """

    @abstractmethod
    def sync(self) -> None:
        """Return when every line taken so far survives a power loss."""

    def abandon(self) -> None:
        """Release the sink when the lease is lost: what is held back is not written any more."""
        self.close()

    def confirm(self) -> None:  # noqa: B027 - most stores have nothing to look at
        """Raise ``FileNotFoundError`` when readers do not find there what was written; called when the run ends."""

    @abstractmethod
    def close(self) -> None:
        """Write what is held back and release the sink; closing again does nothing."""


class StoredRun(ABC):
    """One run in a store; methods may be called from several threads."""

    run_id: str
    path: Path | None = None
    """Its directory, where runs are kept in directories; None in every other store."""

    option: str = ""
    """As ``option`` of its store."""
    secrets: tuple[str, ...] = ()
    """As ``secrets`` of its store."""

    @property
    @abstractmethod
    def place(self) -> str:
        """How messages name the run's trace: a path, or the run and the store's address."""

    @property
    def started(self) -> bool:
        """Whether there is a trace at all, readable or not."""
        return bool(self.last_line())

    @property
    def torn(self) -> int:
        """How many bytes a crash left behind the last complete line; known when ``lines`` was read to its end."""
        return 0

    @property
    def foreign(self) -> bool:
        """Whether it is another user's, so that nothing is written into it unasked."""
        return False

    @property
    def owner(self) -> str:
        """The account that its directory belongs to, which started it; empty in a store without directories."""
        return ""

    def check_owner(self) -> None:  # noqa: B027 - users of a database are the database's own affair
        """Raise ``RunError`` when only another user may continue the run."""

    def where(self, name: str) -> str:
        """Return how messages name a blob: a path, or its name and the run's id."""
        return f"{name} of run {self.run_id}" if self.path is None else str(self.path / name)

    # -- lines ----------------------------------------------------------------------------------------------

    @abstractmethod
    def lines(self, since_seq: int = 0) -> Iterator[bytes]:
        """Yield the lines behind number ``since_seq``, exactly as they were written and with their newline.

        Where lines are kept in a file, what a crash left of the last write comes last, without a newline or with
        zeros; readers of the core check it. A database has no such part.
        """

    def line(self, seq: int) -> bytes:
        """Return one line by its number; empty when there is none."""
        return next(iter(self.lines(seq - 1)), b"")

    @abstractmethod
    def last_line(self) -> bytes:
        """Return the last complete line; empty when there is none."""

    @abstractmethod
    def sink(self, *, seq: int, lease: Lease | None) -> Sink:
        """Open the run for writing behind its line ``seq``, 0 for a new run, under a lease that ``acquire`` gave.

        Raise ``lease_lost`` when another worker has it or the last line has another number.
        """

    @abstractmethod
    def recover(self) -> Recovered:
        """Cut off what a crash left behind the last complete line, and keep it as ``trace.torn``; under a lease."""

    @abstractmethod
    def wait(self, since_seq: int, deadline: Deadline) -> bool:
        """Return True when there may be lines behind ``since_seq``, False when the deadline has come first."""

    def news(self) -> bool:
        """Return whether there may be lines that were not there when this was last asked.

        Who follows a run asks often and reads only then. A store that is not told of new lines says True.
        """
        return True

    # -- blobs ----------------------------------------------------------------------------------------------

    @abstractmethod
    def blob(self, name: str, *, limit: int = BLOB_LIMIT) -> Blob | None:
        """Return a blob of at most ``limit`` bytes and who wrote it; None when there is none."""

    def get(self, name: str, *, limit: int = BLOB_LIMIT) -> bytes | None:
        """Return the bytes of a blob of at most ``limit`` bytes; None when there is none."""
        found = self.blob(name, limit=limit)
        return None if found is None else found.data

    def info(self, name: str) -> BlobInfo | None:
        """Return size and time of a blob; None when there is none."""
        from gert_core.api.store_records import BlobInfo

        found = self.blob(name)
        return None if found is None else BlobInfo(size=len(found.data), written=found.written)

    @abstractmethod
    def put(self, name: str, data: bytes | Iterable[bytes], *, new: bool = False, durable: bool = True) -> None:
        """Write a blob, which after a crash is the old one or the new one; ``data`` may come in parts.

        ``new`` never replaces: raise ``blob_exists``. What is not ``durable`` may be lost with the power. An answer
        (``tickets/<id>.answers/...``) also wakes the run: a store that keeps rows notes when.
        """

    @abstractmethod
    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a blob, which is made when there is none; never synced, and may be held back for 2 s."""

    @abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """Return the sorted names of the blobs that begin with ``prefix``, which is empty or a path such as ``a/b/``.

        Only what ``put`` and ``append`` wrote is named, not the lines of the trace or the lease.
        """

    @abstractmethod
    def delete(self, name: str) -> bool:
        """Delete a blob; return False when there was none."""

    @abstractmethod
    def remove(self) -> None:
        """Delete the run with everything it has."""

    # -- leases ---------------------------------------------------------------------------------------------

    @abstractmethod
    def acquire(self, worker_id: str, ttl: float) -> Lease | None:
        """Take the run for ``ttl`` seconds; None when another worker has it and its time is not over.

        What is free, expired or this worker's own is given, with a higher ``fence``.
        """

    @abstractmethod
    def renew(self, lease: Lease, ttl: float) -> bool:
        """Let a lease last ``ttl`` seconds from now; False when it is not the one that holds any more."""

    @abstractmethod
    def release(self, lease: Lease) -> bool:
        """Give a lease back; False when it is not the one that holds any more, which then stays."""

    @abstractmethod
    def holder(self) -> Lease | None:
        """Return the lease that holds now; None when it is free or expired."""

    def close(self) -> None:  # noqa: B027 - some stores hold nothing
        """Release what this object holds, such as a connection; the run stays as it is, and so does a lease."""

    def __enter__(self) -> StoredRun:
        """Return the run, which is closed behind the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


class RunStore(ABC):
    """All runs of one address; methods may be called from several threads. Nothing is connected before it is used.

    A store whose tables are of a newer version raises ``store_schema``; one whose tables are older does so until
    ``upgrade``, and one that cannot be reached raises ``store_unavailable``.
    """

    url: str
    """Its address, without a password (``gert_core.kit.store_urls.without_password``)."""

    served: bool = False
    """Whether a server keeps the runs, so that an account that can only write files here cannot put back old ones."""
    option: str = ""
    """What commands need to find it, such as `` --store sqlite:runs.db``; the core sets it, a store hands it on."""
    secrets: tuple[str, ...] = ()
    """The variables that its driver reads passwords from: gert masks them, and no tool gets one it does not declare."""

    @property
    def place(self) -> str:
        """How messages name the store: its address, or the directory of runs."""
        return self.url

    @abstractmethod
    def schema_info(self) -> SchemaInfo:
        """Return what the store is."""

    @abstractmethod
    def create(self, run_id: str, *, blobs: Mapping[str, bytes]) -> StoredRun:
        """Create a run with its first blobs, durable on return; raise ``run_exists``."""

    @abstractmethod
    def open(self, run_id: str) -> StoredRun:
        """Return a run; raise ``run_not_found``."""

    @abstractmethod
    def import_run(
        self,
        run_id: str,
        *,
        lines: Callable[[], Iterable[bytes]],
        blobs: Callable[[], Iterable[tuple[str, bytes]]],
    ) -> StoredRun:
        """Create a run with the lines and blobs of another store, durable on return: all of it or nothing.

        Lines have their newline. Both functions give everything from the beginning each time they are called; what
        they raise is passed on, and leaves nothing behind. Raise ``run_exists``.
        """

    @abstractmethod
    def runs(self, query: RunQuery) -> Iterator[RunRow]:
        """Yield the runs that a query asks for, the newest first."""

    def run_ids(self) -> Iterator[str]:
        """Yield the ids of all runs, the newest first; cheaper than ``runs`` where rows have to be made."""
        from gert_core.api.store_records import RunQuery

        return (row.run_id for row in self.runs(RunQuery()))

    @abstractmethod
    def tickets(
        self,
        *,
        status: str | None = None,
        runbook: str | None = None,
        step_id: str | None = None,
        ticket_id: str | None = None,
    ) -> Iterator[TicketRow]:
        """Yield the tickets that are as asked for, those of the newest run first."""

    @abstractmethod
    def ledger(self) -> Ledger:
        """Return the ledger of the store."""

    def tidy(self) -> None:  # noqa: B027 - most stores leave nothing
        """Delete what processes that were killed left of runs they were deleting."""

    def upgrade(self) -> SchemaInfo:
        """Bring older tables to the version of this store, and return what it is then."""
        return self.schema_info()

    def close(self) -> None:  # noqa: B027 - some stores hold nothing
        """Release what the store holds, such as connections; its runs cannot be used after that."""

    def __enter__(self) -> RunStore:
        """Return the store, which is closed behind the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


__all__ = ["Ledger", "RunStore", "Sink", "StoredRun"]
