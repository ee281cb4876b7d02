"""All runs in the tables of one database."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.api.store_records import RunRow, SchemaInfo
from gert_core.api.stores import RunStore
from gert_core.kit.blob_names import check_blob_name
from gert_core.kit.tables import schema
from gert_core.kit.tables.blobs import put_blob
from gert_core.kit.tables.database import marks
from gert_core.kit.tables.ledger import TableLedger
from gert_core.kit.tables.rows import COLUMNS, select_ids, select_runs, select_tickets, values_of
from gert_core.kit.tables.run import TableRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gert_core.api.store_records import RunQuery, TicketRow
    from gert_core.api.stores import Ledger
    from gert_core.kit.tables.database import Database, Transaction


class TableStore(RunStore):
    """The runs of a database; the tables are made when the first run is."""

    def __init__(self, database: Database, *, warn: Callable[[str], None] = lambda _: None) -> None:
        self.url = database.url
        self.served = database.served
        self.secrets = database.secrets
        self._database = database
        self._warn = warn
        self._lock = threading.Lock()
        self._checked = False

    @property
    def database(self) -> Database:
        """Return the database, for the plugin whose it is."""
        return self._database

    def schema_info(self) -> SchemaInfo:
        """Return what the store is; raise ``store_schema`` when its tables are of another version."""
        self._ready(False)
        return SchemaInfo(backend=self._database.backend, schema_version=str(schema.VERSION))

    def upgrade(self) -> SchemaInfo:
        """Bring older tables to the version of this gert."""
        schema.upgrade(self._database)
        return self.schema_info()

    def _ready(self, make: bool) -> bool:
        """Return whether there are tables; with ``make`` there are afterwards. Raise ``store_schema``."""
        if self._checked:
            return True
        with self._lock:
            version = schema.version_of(self._database)
            if version is None and make:
                version = schema.make_tables(self._database)
            if version is not None:
                schema.check_version(self._database, version)
                self._checked = True
        return self._checked

    def create(self, run_id: str, *, blobs: Mapping[str, bytes]) -> TableRun:
        """Create the row of a run with its first blobs."""
        for name in blobs:
            check_blob_name(name)
        token = secrets.token_hex(8)
        self._ready(True)

        def work(transaction: Transaction) -> None:
            if self._insert(transaction, run_id, token):
                for name, data in blobs.items():
                    put_blob(transaction, run_id, name, data, new=False, token=token)

        self._database.repeat(lambda _: self._database.change(work))
        return self._run(run_id)

    def _run(self, run_id: str) -> TableRun:
        run = TableRun(self._database, run_id, self._warn)
        run.option = self.option
        return run

    def import_run(
        self,
        run_id: str,
        *,
        lines: Callable[[], Iterable[bytes]],
        blobs: Callable[[], Iterable[tuple[str, bytes]]],
    ) -> TableRun:
        """Write the rows of a run of another store in one transaction."""
        from gert_core.kit.tables.imports import fill_run

        token = secrets.token_hex(8)
        self._ready(True)

        def work(transaction: Transaction) -> None:
            if self._insert(transaction, run_id, token):
                fill_run(transaction, run_id, lines(), blobs(), token=token)

        self._database.repeat(lambda _: self._database.change(work))
        return TableRun(self._database, run_id, self._warn)

    def _insert(self, transaction: Transaction, run_id: str, token: str) -> bool:
        """Insert the row of a run; False when an attempt did so whose answer was lost. Raise ``run_exists``."""
        values = (run_id, run_id.partition("-")[0], token, *values_of(RunRow(run_id=run_id)))
        done = transaction.execute(
            f"INSERT INTO gert_runs (created, run_id, began, token, {', '.join(COLUMNS)}) "  # noqa: S608 - columns
            f"VALUES (:now, {marks(values)}) ON CONFLICT (run_id) DO NOTHING",
            values,
        )
        if not done:
            found = transaction.rows("SELECT token FROM gert_runs WHERE run_id = ?", (run_id,))
            if not found or found[0][0] != token:
                raise StoreError(f"there is a run {run_id} in {self.url} already", kind=ErrorKind.RUN_EXISTS)
        return bool(done)

    def open(self, run_id: str) -> TableRun:
        """Return a run that has a row."""
        if not self._ready(False) or not self._database.read("SELECT 1 FROM gert_runs WHERE run_id = ?", (run_id,)):
            raise StoreError(
                f"there is no run {run_id} in {self.url}",
                kind=ErrorKind.RUN_NOT_FOUND,
                hint=f"gert runs list{self.option} shows the runs",
            )
        return self._run(run_id)

    def runs(self, query: RunQuery) -> Iterator[RunRow]:
        """Yield the runs that a query asks for."""
        if self._ready(False):
            yield from select_runs(self._database, query)

    def run_ids(self) -> Iterator[str]:
        """Yield the ids of all runs."""
        if self._ready(False):
            yield from select_ids(self._database)

    def tickets(
        self,
        *,
        status: str | None = None,
        runbook: str | None = None,
        step_id: str | None = None,
        ticket_id: str | None = None,
    ) -> Iterator[TicketRow]:
        """Yield the tickets that are as asked for."""
        if self._ready(False):
            yield from select_tickets(
                self._database, status=status, runbook=runbook, step_id=step_id, ticket_id=ticket_id
            )

    def ledger(self) -> Ledger:
        """Return the ledger of the store."""
        return TableLedger(self._database, self._ready)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


__all__ = ["TableStore"]
