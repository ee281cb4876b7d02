"""The connection to a SQLite file: write-ahead log, one writer at a time, synced only where that is asked for."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from gert_core.api import StoreError
from gert_core.api.store_records import BLOB_LIMIT
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import LINE_LIMIT, MIB
from gert_core.kit.tables.database import Database, Transaction
from gert_core.kit.tables.rows import assignments
from gert_store_sqlite.faults import refuse_network, told
from gert_store_sqlite.plain import refuse_strange_files, strange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gert_core.kit.tables.database import Group

T = TypeVar("T")
BUSY_SECONDS: Final = 10.0
"""How long a connection waits for another one that writes."""
LONGEST: Final = max(LINE_LIMIT, BLOB_LIMIT) + MIB
"""The most bytes of one row: of a line, or a part of a blob, and what stands beside it."""
OLDEST: Final = (3, 35, 0)
"""The first version of SQLite that returns what a statement changed."""
_NOW: Final = "((julianday('now') - 2440587.5) * 86400.0)"
_FENCED: Final = "WHERE run_id = ? AND EXISTS (SELECT 1 FROM gert_leases WHERE run_id = ? AND fence = ?)"
_MOST: Final = 16
"""How many lines one statement adds; more are added by a statement each, in one transaction."""


@cache
def _adding(lines: int) -> str:
    """Return the statement that adds lines, if the fence is the lease's and the last line the one before."""
    return (
        "INSERT INTO gert_events (run_id, seq, line) "  # noqa: S608 - question marks
        f"SELECT ?, column1, column2 FROM (VALUES {', '.join(['(?, ?)'] * lines)}) "
        "WHERE EXISTS (SELECT 1 FROM gert_leases WHERE run_id = ? AND fence = ?) "
        "AND (SELECT MAX(seq) FROM gert_events WHERE run_id = ?) = ?"
    )


class _Statements(Transaction):
    """The statements of one transaction, which has the whole file to itself."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows."""
        return self._connection.execute(sql.replace(":now", _NOW), tuple(values)).fetchall()

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        return self._connection.execute(sql.replace(":now", _NOW), tuple(values)).rowcount

    def alone(self, name: str) -> None:
        """Do nothing: no other transaction writes at the same time."""


class SqliteDatabase(Database):
    """One connection to a file, which is made with mode 0600; the threads that use it take turns."""

    backend: ClassVar[str] = "sqlite"
    late_rows: ClassVar[bool] = True
    types: ClassVar[Mapping[str, str]] = {"bytes": "BLOB", "integer": "INTEGER", "real": "REAL"}

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:{path}"
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._full = False

    def exists(self) -> bool:
        """Return whether the file is there and not empty."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}") from None

    def has_tables(self) -> bool:
        """Return whether the file has gert's tables; raise ``StoreError`` when others than plain ones are there."""
        with self._connected() as connection:
            found = connection.execute(
                "SELECT type, name, sql FROM sqlite_master WHERE tbl_name LIKE 'gert^_%' ESCAPE '^'"
            ).fetchall()
        for kind, name, sql in found:
            if (what := strange(kind, sql)) is not None:
                raise StoreError(
                    f"{self.path} has {what} {name}, which gert did not make",
                    file=str(self.path),
                    hint="another program has changed the file: restore a backup",
                )
        return any(name == "gert_schema" for _, name, _ in found)

    def read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none when there is no file."""
        if self._connection is None and not self.exists():
            return []
        with self._connected() as connection:
            return connection.execute(sql.replace(":now", _NOW), tuple(values)).fetchall()

    def change(self, work: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """Do the work in one transaction."""
        with self._written(durable=durable) as connection:
            return work(_Statements(connection))

    def add(self, group: Group, *, durable: bool) -> bool:
        """Write lines and row, if the fence is the lease's and the last line the one before.

        Lines that change nothing of the row but its last line are one statement, which is a transaction of its own.
        """
        run_id, fence, before, lines = group.run_id, group.fence, group.before, group.lines
        if before and 0 < len(lines) <= _MOST and not group.told:
            given = [value for pair in enumerate(lines, before + 1) for value in pair]
            with self._connected() as connection:
                self._set_durable(connection, durable)
                done = connection.execute(_adding(len(lines)), (run_id, *given, run_id, fence, run_id, before))
                return bool(done.rowcount)
        what, values = assignments(group.row, told=group.told)
        with self._written(durable=durable) as connection:
            last = connection.execute("SELECT MAX(seq) FROM gert_events WHERE run_id = ?", (run_id,)).fetchone()[0]
            if (last or 0) != before:
                return False
            moved = connection.execute(
                f"UPDATE gert_runs SET {what} {_FENCED}",  # noqa: S608 - names of columns
                (*values, run_id, run_id, fence),
            )
            if not moved.rowcount:
                return False
            connection.executemany(
                "INSERT INTO gert_events (run_id, seq, line) VALUES (?, ?, ?)",
                [(run_id, seq, line) for seq, line in enumerate(lines, before + 1)],
            )
        return True

    def twin(self) -> SqliteDatabase:
        """Return another connection to the file."""
        return SqliteDatabase(self.path)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(sqlite3.Error):  # what was committed stays so
                    connection.close()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to one thread at a time; errors of SQLite become sentences."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                yield self._connection
            except sqlite3.Error as error:
                raise told(self.path, error) from None

    @contextmanager
    def _written(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """Give the connection in a transaction, which is taken back when something goes wrong in it."""
        with self._connected() as connection:
            self._set_durable(connection, durable)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _set_durable(self, connection: sqlite3.Connection, durable: bool) -> None:
        """Let the next transactions wait for the disk, or not."""
        if durable is not self._full:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._full = durable

    def _connect(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise StoreError(
                f"SQLite {sqlite3.sqlite_version} of this Python is too old: the store needs {wanted}",
                hint="use a Python that was built with a newer SQLite",
            )
        refuse_network(self.path)
        refuse_strange_files(self.path)
        fresh = not self.exists()
        if fresh:
            self._make_file()
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)  # a small file can claim a row of any size
            # Kept in the file: once is enough, and asking for it again takes a lock.
            if fresh or connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        self._full = False
        return connection

    def _make_file(self) -> None:
        """Make the empty file, private to its user, with a name that survives a power loss."""
        folder = self.path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
            sync_directory(folder)
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be created: {error.strerror}",
                hint="name a file in a writable directory",
            ) from None


__all__ = ["BUSY_SECONDS", "SqliteDatabase"]
