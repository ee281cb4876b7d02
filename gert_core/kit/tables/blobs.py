"""Blobs of a run in a table, in parts, with the tickets that some of them are."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.api.store_records import BLOB_LIMIT, HOLD_BYTES, Blob, BlobInfo
from gert_core.kit.blob_names import check_blob_name, is_answer, ticket_of
from gert_core.kit.files import MIB
from gert_core.kit.json_reader import loads
from gert_core.kit.run_rows import MOVED
from gert_core.kit.tables.rows import bytes_of, text_of, timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.kit.tables.database import Database, Transaction

APPEND_SECONDS: Final = 2.0
"""How long what is appended to a blob is held back."""
_META: Final = "meta.json"
_SIZE: Final = "SELECT SUM(LENGTH(data)), MAX(written) FROM gert_blobs WHERE run_id = ? AND name = ?"
_INSERT: Final = (
    "INSERT INTO gert_blobs (run_id, name, part, data, written, token) "
    "SELECT ?, ?, COALESCE(MAX(part) + 1, 0), ?, :now, ? FROM gert_blobs WHERE run_id = ? AND name = ?"
)


class Blobs:
    """The blobs of one run."""

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id
        self._lock = threading.Lock()
        self._held: dict[str, bytearray] = {}
        self._timer: threading.Timer | None = None
        self._error: StoreError | None = None

    def read(self, name: str, limit: int) -> Blob | None:
        """Return a blob of at most ``limit`` bytes."""
        check_blob_name(name)
        self.flush()
        where = (self._run_id, name)
        size = self._database.read(_SIZE, where)
        if not size or size[0][0] is None:
            return None
        if size[0][0] > limit:
            raise RunError(
                f"{name} of run {self._run_id} is larger than {limit // MIB} MiB", kind=ErrorKind.RUN_DIRECTORY
            )
        parts = self._database.read("SELECT data FROM gert_blobs WHERE run_id = ? AND name = ? ORDER BY part", where)
        return Blob(data=b"".join(bytes_of(part) for (part,) in parts), written=timestamp(size[0][1]))

    def info(self, name: str) -> BlobInfo | None:
        """Return size and time of a blob, which is not read for that."""
        check_blob_name(name)
        self.flush()
        found = self._database.read(_SIZE, (self._run_id, name))
        if not found or found[0][0] is None:
            return None
        return BlobInfo(size=int(found[0][0]), written=timestamp(found[0][1]))

    def write(self, name: str, data: bytes | Iterable[bytes], *, new: bool, durable: bool) -> None:
        """Write a blob as a whole; with ``new`` only where there is none."""
        check_blob_name(name)
        whole = data if isinstance(data, bytes) else _joined(data, self._where(name))
        check_size(self._run_id, name, len(whole))
        self.flush()
        token = secrets.token_hex(8)

        def work(transaction: Transaction) -> None:
            put_blob(transaction, self._run_id, name, whole, new=new, token=token)

        self._database.repeat(lambda _: self._database.change(work, durable=durable))

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a blob within ``APPEND_SECONDS``; a fault is raised by a later call."""
        check_blob_name(name)
        with self._lock:
            error, self._error = self._error, None
            if error is not None:
                raise error
            self._held.setdefault(name, bytearray()).extend(data)
            full = sum(map(len, self._held.values())) >= HOLD_BYTES
            if not full and self._timer is None:
                self._timer = threading.Timer(APPEND_SECONDS, self._flush_later)
                self._timer.daemon = True
                self._timer.start()
        if full:
            self.flush()

    def flush(self) -> None:
        """Write what was appended and is held back."""
        if not self._held:
            return
        with self._lock:
            held, self._held = self._held, {}
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            token = secrets.token_hex(8)

            def work(transaction: Transaction) -> None:
                self._add(transaction, held, token)

            if held:
                self._database.repeat(lambda _: self._database.change(work, durable=False))

    def _flush_later(self) -> None:
        try:
            self.flush()
        except StoreError as error:
            self._error = error

    def _add(self, transaction: Transaction, held: dict[str, bytearray], token: str) -> None:
        _lock_run(transaction, self._run_id)
        for name, data in held.items():
            there = "SELECT 1 FROM gert_blobs WHERE run_id = ? AND name = ? AND token = ?"
            if not transaction.rows(there, (self._run_id, name, token)):  # else its COMMIT arrived, not the answer
                transaction.execute(_INSERT, (self._run_id, name, bytes(data), token, self._run_id, name))

    def names(self, prefix: str) -> list[str]:
        """Return the sorted names that begin with ``prefix``."""
        self.flush()
        found = self._database.read(
            "SELECT name FROM gert_blobs WHERE run_id = ? AND part = 0 AND SUBSTR(name, 1, CAST(? AS INTEGER)) = ?",
            (self._run_id, len(prefix), prefix),
        )
        return sorted(text_of(name) for (name,) in found)

    def delete(self, name: str) -> bool:
        """Delete a blob; return False when there was none."""
        check_blob_name(name)
        self.flush()

        def work(transaction: Transaction) -> int:
            if not is_answer(name) and (ticket := ticket_of(name)) is not None:
                transaction.execute(
                    "DELETE FROM gert_tickets WHERE run_id = ? AND ticket_id = ?", (self._run_id, ticket)
                )
            return transaction.execute("DELETE FROM gert_blobs WHERE run_id = ? AND name = ?", (self._run_id, name))

        return bool(self._database.repeat(lambda again: self._database.change(work) or again))

    def _where(self, name: str) -> str:
        return f"{name} of run {self._run_id}"


def check_size(run_id: str, name: str, size: int) -> None:
    """Raise ``StoreError`` for a blob that is too large."""
    if size > BLOB_LIMIT:
        raise _too_large(f"{name} of run {run_id}")


def put_blob(transaction: Transaction, run_id: str, name: str, data: bytes, *, new: bool, token: str) -> None:
    """Write a blob, note the ticket that it is, and let an answer wake its run."""
    where = (run_id, name)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise StoreError(
            f"a file of run {run_id} is called {name!a}, which is not UTF-8, and cannot be kept in a database",
            kind=ErrorKind.RUN_DIRECTORY,
            hint="rename the file",
        ) from None
    _lock_run(transaction, run_id)
    if new:
        found = transaction.rows("SELECT token FROM gert_blobs WHERE run_id = ? AND name = ?", where)
        if found and found[0][0] == token:  # its COMMIT arrived, not the answer
            return
        if found:
            raise StoreError(f"{name} of run {run_id} exists already", kind=ErrorKind.BLOB_EXISTS)
    else:
        transaction.execute("DELETE FROM gert_blobs WHERE run_id = ? AND name = ?", where)
    transaction.execute(_INSERT, (*where, data, token, *where))
    if name == _META:
        _note_move(transaction, run_id, data)
    ticket = ticket_of(name)
    if ticket is None:
        return
    if is_answer(name):
        transaction.execute("UPDATE gert_runs SET wake = :now WHERE run_id = ?", (run_id,))
        transaction.execute(
            "UPDATE gert_tickets SET status = 'answered' WHERE run_id = ? AND ticket_id = ?", (run_id, ticket)
        )
    else:
        _note_ticket(transaction, run_id, ticket, data)


def _note_move(transaction: Transaction, run_id: str, data: bytes) -> None:
    """Let the row of a run that was moved to another store say so."""
    told = _object(data).get(MOVED)
    if isinstance(told, dict) and told.get("done") is not False:
        sql = "UPDATE gert_runs SET status = ?, finished = ?, blocked_on = '[]', next_at = NULL WHERE run_id = ?"
        transaction.execute(sql, (MOVED, str(told.get("at")), run_id))


def _object(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a blob; empty when it is none."""
    try:
        found = loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _note_ticket(transaction: Transaction, run_id: str, ticket: str, data: bytes) -> None:
    """Write the row of a ticket; one whose content cannot be read is found by its id only."""
    facts = _object(data)
    transaction.execute(
        "INSERT INTO gert_tickets (run_id, ticket_id, runbook, step_id, status, expires) "
        "VALUES (?, ?, ?, ?, 'open', ?) ON CONFLICT (run_id, ticket_id) DO UPDATE "
        "SET runbook = excluded.runbook, step_id = excluded.step_id, expires = excluded.expires",
        (run_id, ticket, *(str(facts.get(name) or "") for name in ("runbook_name", "step_id", "expires_at"))),
    )


def _lock_run(transaction: Transaction, run_id: str) -> None:
    """Let one transaction at a time write blobs of a run."""
    transaction.alone(f"blobs {run_id}")


def _joined(data: Iterable[bytes], place: str) -> bytes:
    """Return the parts as one, as long as they are not too large."""
    whole = bytearray()
    for part in data:
        whole += part
        if len(whole) > BLOB_LIMIT:
            raise _too_large(place)
    return bytes(whole)


def _too_large(place: str) -> StoreError:
    return StoreError(
        f"{place} is larger than {BLOB_LIMIT // MIB} MiB, the most that a database keeps of one",
        kind=ErrorKind.RUN_DIRECTORY,
        hint="keep large files elsewhere and pass on their names",
    )


__all__ = ["APPEND_SECONDS", "Blobs", "check_size", "put_blob"]
