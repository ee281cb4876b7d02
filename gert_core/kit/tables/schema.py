"""The tables of runs in a database, and their version."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError
from gert_core.kit.tables.rows import damaged, whole_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.kit.tables.database import Database, Transaction

VERSION: Final = 1
"""The version of the tables that this version of gert reads and writes."""
UPGRADES: Final[Mapping[int, tuple[str, ...]]] = {}
"""By version, the statements that bring the tables to the next one."""
_TABLES: Final = (
    "CREATE TABLE gert_schema (version {integer} NOT NULL)",
    """CREATE TABLE gert_runs (
        run_id TEXT PRIMARY KEY, began TEXT NOT NULL, created {real} NOT NULL, token TEXT NOT NULL,
        runbook TEXT NOT NULL, status TEXT NOT NULL, outcome TEXT, code TEXT, mode TEXT NOT NULL, tenant TEXT,
        actor TEXT, started TEXT, updated TEXT, finished TEXT, duration TEXT, waited TEXT,
        blocked_on TEXT NOT NULL, last_seq {integer} NOT NULL, wake {real}, next_at TEXT)""",
    "CREATE INDEX gert_runs_newest ON gert_runs (began, created, run_id)",
    """CREATE TABLE gert_events (
        run_id TEXT NOT NULL, seq {integer} NOT NULL, line {bytes} NOT NULL, PRIMARY KEY (run_id, seq))""",
    """CREATE TABLE gert_blobs (
        run_id TEXT NOT NULL, name TEXT NOT NULL, part {integer} NOT NULL, data {bytes} NOT NULL,
        written {real} NOT NULL, token TEXT NOT NULL, PRIMARY KEY (run_id, name, part))""",
    """CREATE TABLE gert_tickets (
        run_id TEXT NOT NULL, ticket_id TEXT NOT NULL, runbook TEXT NOT NULL, step_id TEXT NOT NULL,
        status TEXT NOT NULL, expires TEXT, PRIMARY KEY (run_id, ticket_id))""",
    "CREATE INDEX gert_tickets_ids ON gert_tickets (ticket_id)",
    """CREATE TABLE gert_leases (
        run_id TEXT PRIMARY KEY, worker TEXT NOT NULL, fence {integer} NOT NULL, expires {real} NOT NULL)""",
    """CREATE TABLE gert_ledger (
        kind TEXT NOT NULL, ledger_key TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL, at TEXT NOT NULL,
        amount TEXT NOT NULL, stamp {real} NOT NULL, document TEXT NOT NULL,
        PRIMARY KEY (kind, ledger_key, owner))""",
)
TABLES: Final = ("gert_runs", "gert_events", "gert_blobs", "gert_tickets", "gert_leases")
"""The tables that have rows of a run."""


def version_of(database: Database) -> int | None:
    """Return the version of the tables; None when there are none yet."""
    if not database.exists() or not database.has_tables():
        return None
    return _version_in(database.read("SELECT version FROM gert_schema"))


def _version_in(rows: Sequence[tuple[Any, ...]]) -> int:
    """Return the version that the table has; raise ``StoreError`` when it has none, or several."""
    if len(rows) != 1:
        raise damaged("the version of the tables", [row[0] for row in rows[:2]])
    return whole_of(rows[0][0])


def check_version(database: Database, version: int) -> None:
    """Raise ``store_schema`` unless the tables are of the version that this gert works with."""
    if version > VERSION:
        raise StoreError(
            f"{database.url} has tables of version {version}, and this gert knows them up to version {VERSION}",
            kind=ErrorKind.STORE_SCHEMA,
            hint="use the version of gert that wrote them, or a newer one",
        )
    if version < VERSION:
        raise StoreError(
            f"{database.url} has tables of version {version}, and this gert needs version {VERSION}",
            kind=ErrorKind.STORE_SCHEMA,
            hint=f"bring them up to date with: gert store upgrade --store {shlex.quote(database.url)}",
        )


def make_tables(database: Database) -> int:
    """Make the tables, unless another process does so at the same time; return their version."""

    def work(transaction: Transaction) -> int:
        transaction.alone("gert_schema")
        if database.has_tables():
            return _version_in(transaction.rows("SELECT version FROM gert_schema"))
        for statement in _TABLES:
            transaction.execute(statement.format(**database.types))
        transaction.execute("INSERT INTO gert_schema (version) VALUES (?)", (VERSION,))
        return VERSION

    return database.repeat(lambda _: database.change(work))


def upgrade(database: Database) -> None:
    """Bring older tables to the version of this gert."""

    def work(transaction: Transaction) -> None:
        transaction.alone("gert_schema")
        version = _version_in(transaction.rows("SELECT version FROM gert_schema"))
        while version < VERSION and version in UPGRADES:
            for statement in UPGRADES[version]:
                transaction.execute(statement.format(**database.types))
            version += 1
            transaction.execute("UPDATE gert_schema SET version = ?", (version,))
        if version < VERSION:  # no gert made tables of that version
            raise damaged("the version of the tables", version)
        check_version(database, version)

    if version_of(database) is None:
        make_tables(database)
    database.repeat(lambda _: database.change(work))


__all__ = ["TABLES", "UPGRADES", "VERSION", "check_version", "make_tables", "upgrade", "version_of"]
