"""The connection to a PostgreSQL database: what need not be durable is not waited for."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from gert_core.api import StoreError
from gert_core.kit.store_urls import without_password
from gert_core.kit.tables.database import Database, LostError, Transaction
from gert_core.kit.tables.rows import assignments
from gert_store_postgres.bounded import LONGEST, BoundedConnection, longest_of
from gert_store_postgres.faults import fault_of, lost, unreachable
from gert_store_postgres.listening import CHANNEL, Listener, lock_of
from gert_store_postgres.plain import FOUND, has_schema
from gert_store_postgres.search_path import refuse_other_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gert_core.kit.tables.database import Group

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
READERS: Final = 4
"""The most connections with which the threads of a process read at the same time."""
_PAUSES: Final = (0.1, 0.4, 1.6)
"""The seconds before a read is asked again on a new connection, each time it fails."""
_NOW: Final = "extract(epoch FROM pg_catalog.clock_timestamp())::float8"
_SETTINGS: Final[Mapping[str, str | int]] = {
    "application_name": "gert",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""What an address may say otherwise; a server that is gone is noticed well before a lease ends."""
_ADD: Final = """
WITH held AS (SELECT 1 FROM gert_leases WHERE run_id = %s AND fence = %s FOR SHARE),
moved AS (UPDATE gert_runs SET {what} WHERE run_id = %s AND last_seq = %s AND EXISTS (SELECT 1 FROM held)
          RETURNING run_id),
added AS (INSERT INTO gert_events (run_id, seq, line)
          SELECT moved.run_id, %s + t.n, t.line
          FROM moved, pg_catalog.unnest(%b::bytea[]) WITH ORDINALITY AS t (line, n))
SELECT pg_catalog.count(*), pg_catalog.set_config('synchronous_commit', %s, true),
       CASE WHEN pg_catalog.pg_try_advisory_xact_lock(%s) THEN ''
            ELSE pg_catalog.pg_notify('{channel}', %s)::text END FROM moved
"""
"""Lines, row and fence; whether its COMMIT waits for the disk, which ends with the transaction; word for followers."""


@cache
def _adding(what: str) -> bytes:
    """Return the statement that writes lines and sets columns of the run's row."""
    return _ADD.format(what=what.replace("?", "%s"), channel=CHANNEL).encode()


@cache
def _text(sql: str) -> str:
    """Return a statement as psycopg takes it."""
    return sql.replace("%", "%%").replace("?", "%s").replace(":now", _NOW)


class _Statements(Transaction):
    """The statements of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows."""
        return self._connection.execute(_text(sql).encode(), tuple(values)).fetchall()

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        return self._connection.execute(_text(sql).encode(), tuple(values)).rowcount

    def alone(self, name: str) -> None:
        """Take a lock of the database that belongs to the name; it ends with the transaction."""
        # Named in full: a function of the schema whose types fit better would be called in place of the server's.
        lock = "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(%s, 0::bigint))"
        self._connection.execute(lock, (f"gert {name}",))


class PostgresDatabase(Database):
    """One connection, in which each statement is a transaction of its own unless one is begun.

    Threads that read while another one uses it share a few more, which are made when they are needed.
    """

    backend: ClassVar[str] = "postgres"
    served: ClassVar[bool] = True
    secrets: ClassVar[tuple[str, ...]] = ("PGPASSWORD", "PGPASSFILE")
    types: ClassVar[Mapping[str, str]] = {"bytes": "BYTEA", "integer": "BIGINT", "real": "DOUBLE PRECISION"}

    def __init__(self, address: str) -> None:
        self.url = without_password(address)
        self._address = address
        self._options = ""
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._free = threading.BoundedSemaphore(READERS - 1)
        self._readers: list[Connection] = []
        """Connections that only read, and are not in use."""
        self._listener = Listener(self._listening, self._free.release)
        self._known = False
        """Whether there was a connection before: one that is lost then is made again."""

    def exists(self) -> bool:
        """Return that there is a database; connecting to it shows whether that is so."""
        return True

    def has_tables(self) -> bool:
        """Return whether the search path finds the tables; refuse views, triggers and the like before they are used."""
        return has_schema(self.url, self.read(FOUND))

    def read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; a lost connection is made anew up to three times."""
        for pause in (*_PAUSES, None):
            try:
                with self._reading() as connection:
                    return connection.execute(_text(sql).encode(), tuple(values)).fetchall()
            except LostError:
                if pause is None:
                    raise
                time.sleep(pause)
        raise AssertionError

    def change(self, work: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """Do the work in one transaction, whose COMMIT waits for the disk if it is to be durable."""
        with self._connected() as connection, connection.transaction():
            if durable:
                connection.execute("SET LOCAL synchronous_commit = on")
            return work(_Statements(connection))

    def add(self, group: Group, *, durable: bool) -> bool:
        """Write lines and row in one statement, if the fence is the lease's and the last line the one before.

        It is a transaction of its own: one way to the server and back. The row of the lease is locked with it, so that
        who takes the run over waits for a write that is under way.
        """
        what, values = assignments(group.row, told=group.told)
        lease, place = (group.run_id, group.fence), (group.run_id, group.before, group.before)
        word = ("on" if durable else "off", lock_of(group.run_id), group.run_id)
        given = (*lease, *values, *place, list(group.lines), *word)
        with self._connected() as connection:
            found = connection.execute(_adding(what), given, prepare=True).fetchone()
        return found is not None and bool(found[0])

    def twin(self) -> PostgresDatabase:
        """Return another connection to the database, for one that writes the same few statements all the time."""
        other = PostgresDatabase(self._address)
        other._known = self._known
        other._options = "-c plan_cache_mode=force_generic_plan"
        return other

    def news(self, run_id: str) -> bool:
        """Return whether a run may have more lines, of which its writer tells those who listen."""
        return self._listener.news(run_id)

    def forget(self, run_id: str) -> None:
        """Do not listen for a run any more."""
        self._listener.forget(run_id)

    def _listening(self) -> Connection | None:
        """Return a connection to listen with, one of the few that may read; None when all are in use."""
        if not self._free.acquire(blocking=False):
            return None
        try:
            return self._new()
        except StoreError:
            self._free.release()
            raise

    def close(self) -> None:
        """Close the connections."""
        self._listener.close()
        self._disconnect()

    def _disconnect(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
        self._close_readers()

    def _close_readers(self) -> None:
        with suppress(IndexError):  # of an empty list, whichever thread took the last one
            while True:
                self._readers.pop().close()

    def __del__(self) -> None:
        """Close connections whose owner was forgotten; the server would keep them otherwise."""
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
        if hasattr(self, "_readers"):
            self._close_readers()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give the connection, or while another thread uses it one of those that only read."""
        if self._lock.acquire(blocking=False):
            try:
                with self._connected() as connection:
                    yield connection
            finally:
                self._lock.release()
            return
        with self._free:
            connection = self._readers.pop() if self._readers else self._new()
            try:
                yield connection
            except psycopg.Error as error:
                fault = fault_of(self.url, error, connection)
                connection.close()
                raise fault from None
            except BaseException:
                connection.close()
                raise
            self._readers.append(connection)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Give the connection to one thread at a time; one that broke is thrown away."""
        with self._lock:
            connection = self._connection = self._connection or self._new()
            try:
                yield connection
            except psycopg.Error as error:
                fault = fault_of(self.url, error, connection)
                if isinstance(fault, LostError) or connection.closed:
                    self._disconnect()
                else:
                    self._end(connection)
                raise fault from None
            except StoreError:
                self._end(connection)
                raise

    def _end(self, connection: Connection) -> None:
        """Leave a transaction that something went wrong in."""
        with suppress(psycopg.Error):
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()

    def _new(self) -> Connection:
        """Make a connection, whose functions and operators are those of the server."""
        try:
            known = conninfo_to_dict(self._address)
            _refuse_words_as_port(known)
            options = f"{LONGEST} {known.get('options') or ''} -c synchronous_commit=off {self._options}".strip()
            settings = {**_SETTINGS, **known, "options": options}
            made = BoundedConnection.connect(autocommit=True, **settings)  # type: ignore[arg-type]
            made.longest = longest_of(options)
        except psycopg.ProgrammingError:
            # It is not shown: where a password would be in it is not known.
            raise StoreError(
                "the address of the store is not one of PostgreSQL", hint="write it as postgres://USER@HOST/DATABASE"
            ) from None
        except psycopg.Error as error:
            if self._known or (error.sqlstate or "").startswith("57P03"):
                raise lost(self.url, error) from None
            raise unreachable(self.url, error) from None
        self._known = True
        try:
            refuse_other_functions(self.url, made)
        except psycopg.Error as error:
            fault = fault_of(self.url, error, made)
            made.close()
            raise fault from None
        except StoreError:
            made.close()
            raise
        return made


def _refuse_words_as_port(known: Mapping[str, Any]) -> None:
    """Raise ``ProgrammingError`` when the port has letters: in ``//USER:PASSWORD`` without a host it is a password."""
    if not all(port.isdigit() or not port for port in str(known.get("port") or "").split(",")):
        raise psycopg.ProgrammingError


__all__ = ["PostgresDatabase"]
