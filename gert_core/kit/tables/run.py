"""One run in the tables of a database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.api.store_records import BLOB_LIMIT, Lease, Recovered
from gert_core.api.stores import StoredRun
from gert_core.kit.files import MIB
from gert_core.kit.run_rows import PREFIX, advance
from gert_core.kit.tables.blobs import Blobs
from gert_core.kit.tables.database import Group, LostError
from gert_core.kit.tables.rows import bytes_of, stored_row, text_of, timestamp, whole_of
from gert_core.kit.tables.schema import TABLES
from gert_core.kit.tables.sink import HeldSink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gert_core.api.context import Deadline
    from gert_core.api.store_records import Blob, BlobInfo, RunRow
    from gert_core.api.stores import Sink
    from gert_core.kit.tables.database import Database, Transaction

_POLL: Final = 0.1
"""Seconds between two looks for more lines; a line is held back for at most 0.2 s before."""
_FEW: Final = 64
_MANY: Final = 2048
_CHUNK: Final = 4 * MIB
_MOST: Final = 64 * MIB
"""The most bytes of lines that are read at once, if there is more than one."""
_QUIET: Final = 60.0
"""The seconds for which a person is not warned again of a connection that was lost."""
_MARGIN: Final = 5.0
"""The seconds before the end of a lease at which nothing is tried again."""


class TableRun(StoredRun):
    """One run: its lines, blobs and lease are rows."""

    def __init__(self, database: Database, run_id: str, warn: Callable[[str], None]) -> None:
        self.run_id = run_id
        self.secrets = database.secrets
        self._database = database
        self._warn = warn
        self._blobs = Blobs(database, run_id)
        self._until = 0.0
        """Until when this process has the run, by the monotonic clock."""
        self._warned = -_QUIET

    @property
    def place(self) -> str:
        """The run and the address of the store."""
        return f"run {self.run_id} in {self._database.url}"

    # -- lines ----------------------------------------------------------------------------------------------

    def lines(self, since_seq: int = 0) -> Iterator[bytes]:
        """Yield the lines behind a number, some at a time."""
        size = _FEW
        while True:
            size = self._fitting(since_seq, size)
            rows = self._database.read(
                "SELECT seq, line FROM gert_events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                (self.run_id, since_seq, size),
            )
            found = [(seq, bytes_of(line)) for seq, line in rows]
            for seq, line in found:
                since_seq = seq
                yield line + b"\n"
            if len(found) < size:
                return
            average = sum(len(line) for _, line in found) // size + 1
            size = max(1, min(_MANY, _CHUNK // average))

    def _fitting(self, since_seq: int, size: int) -> int:
        """Return how many of the next lines are read at once: a few long ones would take all memory."""
        found = self._database.read(
            "SELECT MAX(n) FROM (SELECT LENGTH(line) AS n FROM gert_events WHERE run_id = ? AND seq > ? "
            "ORDER BY seq LIMIT ?) AS part",
            (self.run_id, since_seq, size),
        )
        longest = whole_of(found[0][0] or 0) if found else 0
        return size if longest * size <= _MOST else max(1, _MOST // longest)

    def line(self, seq: int) -> bytes:
        """Return one line by its number."""
        found = self._database.read("SELECT line FROM gert_events WHERE run_id = ? AND seq = ?", (self.run_id, seq))
        return bytes_of(found[0][0]) + b"\n" if found else b""

    def last_line(self) -> bytes:
        """Return the last line."""
        found = self._database.read(
            "SELECT line FROM gert_events WHERE run_id = ? ORDER BY seq DESC LIMIT 1", (self.run_id,)
        )
        return bytes_of(found[0][0]) + b"\n" if found else b""

    def recover(self) -> Recovered:
        """Return the number of the last line; no part of a line is ever in a database."""
        return Recovered(seq=self._last_seq())

    def _last_seq(self) -> int:
        found = self._database.read("SELECT COALESCE(MAX(seq), 0) FROM gert_events WHERE run_id = ?", (self.run_id,))
        return whole_of(found[0][0]) if found else 0

    def wait(self, since_seq: int, deadline: Deadline) -> bool:
        """Look for more lines ten times a second."""
        while self._last_seq() <= since_seq:
            if deadline.wait(_POLL):
                return False
        return True

    def news(self) -> bool:
        """Return whether the database has been told of more lines, or does not know."""
        return self._database.news(self.run_id)

    def sink(self, *, seq: int, lease: Lease | None) -> Sink:
        """Open the run for writing, on a connection of its own."""
        database = self._database.twin()
        row = stored_row(database, self.run_id)
        held = database.read("SELECT fence FROM gert_leases WHERE run_id = ?", (self.run_id,))
        if lease is None or not held or held[0][0] != lease.fence:  # one that expired and that none took still holds
            database.close()
            raise self._lost("another worker has taken it over, or its lease was given back")
        if row is not None and row.problem is not None:
            database.close()
            raise StoreError(f"{self.place} cannot be written: {row.problem}", kind=ErrorKind.RUN_DIRECTORY)
        if row is None or row.last_seq != seq:
            database.close()
            raise self._lost(f"it has {0 if row is None else row.last_seq} lines, not {seq}")
        return HeldSink(
            _Writer(database, row, lease.fence, self).store, seq=seq, place=self.place, release=database.close
        )

    def _lost(self, why: str) -> StoreError:
        return StoreError(
            f"{self.place} is not written by this worker any more: {why}",
            kind=ErrorKind.LEASE_LOST,
            hint=f"gert runs status {self.run_id}{self.option} shows where it stands",
        )

    # -- blobs ----------------------------------------------------------------------------------------------

    def blob(self, name: str, *, limit: int = BLOB_LIMIT) -> Blob | None:
        """Return a blob."""
        return self._blobs.read(name, limit)

    def info(self, name: str) -> BlobInfo | None:
        """Return size and time of a blob."""
        return self._blobs.info(name)

    def put(self, name: str, data: bytes | Iterable[bytes], *, new: bool = False, durable: bool = True) -> None:
        """Write a blob."""
        self._blobs.write(name, data, new=new, durable=durable)

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a blob."""
        self._blobs.append(name, data)

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the blobs."""
        return self._blobs.names(prefix)

    def delete(self, name: str) -> bool:
        """Delete a blob."""
        return self._blobs.delete(name)

    def remove(self) -> None:
        """Delete every row of the run."""

        def work(transaction: Transaction) -> None:
            for table in TABLES:
                transaction.execute(f"DELETE FROM {table} WHERE run_id = ?", (self.run_id,))  # noqa: S608 - a table's name

        self._database.repeat(lambda _: self._database.change(work))

    # -- leases ---------------------------------------------------------------------------------------------

    def acquire(self, worker_id: str, ttl: float) -> Lease | None:
        """Take the run: free, expired or this worker's own."""
        began = time.monotonic()
        found = self._database.repeat(
            lambda _: self._database.change(
                lambda transaction: transaction.rows(
                    "INSERT INTO gert_leases (run_id, worker, fence, expires) VALUES (?, ?, 1, :now + ?) "
                    "ON CONFLICT (run_id) DO UPDATE SET worker = excluded.worker, fence = gert_leases.fence + 1, "
                    "expires = excluded.expires "
                    "WHERE gert_leases.expires <= :now OR gert_leases.worker = excluded.worker "
                    "RETURNING fence, expires",
                    (self.run_id, worker_id, float(ttl)),
                )
            )
        )
        if not found:
            return None
        self._until = began + ttl
        return Lease(worker_id=worker_id, fence=whole_of(found[0][0]), expires_at=timestamp(found[0][1]))

    def renew(self, lease: Lease, ttl: float) -> bool:
        """Let a lease last longer; while the database cannot be reached, it is tried until the lease is nearly over."""
        began = time.monotonic()
        done = self._database.repeat(
            lambda _: self._database.change(
                lambda transaction: transaction.execute(
                    "UPDATE gert_leases SET expires = :now + ? WHERE run_id = ? AND fence = ? AND worker = ?",
                    (float(ttl), self.run_id, lease.fence, lease.worker_id),
                ),
                durable=False,
            ),
            until=self.give_up,
            warn=self.warn,
        )
        if done:
            self._until = began + ttl
        return bool(done)

    def release(self, lease: Lease) -> bool:
        """Give a lease back; its fence is used up with it."""
        done = self._database.repeat(
            lambda again: (
                self._database.change(
                    lambda transaction: transaction.execute(
                        "UPDATE gert_leases SET worker = '', fence = fence + 1, expires = 0 "
                        "WHERE run_id = ? AND fence = ? AND worker = ?",
                        (self.run_id, lease.fence, lease.worker_id),
                    ),
                    durable=False,
                )
                or (again and self.holder() is None)
            ),
            until=self.give_up,
        )
        return bool(done)

    def holder(self) -> Lease | None:
        """Return the lease that has not expired."""
        found = self._database.read(
            "SELECT worker, fence, expires, expires - :now FROM gert_leases WHERE run_id = ? AND expires > :now",
            (self.run_id,),
        )
        if not found:
            return None
        worker, fence, expires, left = found[0]
        return Lease(
            worker_id=text_of(worker),
            fence=whole_of(fence),
            expires_at=timestamp(expires),
            remaining=max(0.0, float(left)),
        )

    def give_up(self) -> float:
        """Return when to stop trying to reach the database, by the monotonic clock."""
        return self._until - _MARGIN

    def warn(self, text: str) -> None:
        """Say a sentence to the person at the terminal, once for what several threads meet."""
        now = time.monotonic()
        if now - self._warned > _QUIET:
            self._warned = now
            self._warn(text)

    def lost(self, why: str) -> StoreError:
        """Return the error of a worker that does not hold the run any more."""
        return self._lost(why)

    def close(self) -> None:
        """Write what was appended and is held back."""
        self._database.forget(self.run_id)
        self._blobs.flush()


class _Writer:
    """Writes groups of lines of one run with its row, behind those before."""

    def __init__(self, database: Database, row: RunRow, fence: int, run: TableRun) -> None:
        self._database = database
        self._row = row
        self._fence = fence
        self._run = run

    def store(self, lines: Sequence[bytes], durable: bool) -> None:
        """Write the lines; raise ``lease_lost`` when another worker has written or taken the run."""
        before = self._row.last_seq
        row = advance(self._row, lines, before + len(lines)) if lines else self._row
        group = Group(
            run_id=row.run_id,
            fence=self._fence,
            before=before,
            lines=lines,
            row=row,
            told=any(line.startswith(PREFIX) for line in lines),
        )
        try:
            done = self._database.repeat(
                lambda again: self._again(group, durable) if again else self._database.add(group, durable=durable),
                until=self._run.give_up,
                warn=self._run.warn,
            )
        except LostError as error:
            raise self._run.lost(error.message) from None
        if not done:
            raise self._run.lost("another worker has taken it over")
        self._row = row

    def _again(self, group: Group, durable: bool) -> bool:
        """Write a group of which it is not known whether it is in: look first."""
        found = stored_row(self._database, group.run_id)
        if found is None:
            return False
        if group.lines and found.last_seq == group.last:
            # Only this worker can have written it, unless the fence is another's by now, which the next call shows.
            return self._database.add(
                Group(run_id=group.run_id, fence=group.fence, before=group.last, lines=(), row=group.row, told=False),
                durable=durable,
            )
        return self._database.add(group, durable=durable)


__all__ = ["TableRun"]
