"""The ledger of a store in a table of a database."""

from __future__ import annotations

import json
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.api.store_records import Claim, ClaimState, LedgerEntry, Total
from gert_core.api.stores import Ledger
from gert_core.kit.claims import is_replaceable, is_restorable
from gert_core.kit.json_reader import loads
from gert_core.kit.tables.rows import damaged, text_of, timestamp
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api.data import Json
    from gert_core.api.store_records import Settled
    from gert_core.kit.tables.database import Database, Transaction

T = TypeVar("T")
_CLAIM: Final = "claim"
_RESERVED: Final = "reserved"
_DOCUMENT: Final = "document"
_PUT: Final = (
    "INSERT INTO gert_ledger (kind, ledger_key, owner, state, at, amount, stamp, document) "
    "VALUES (?, ?, ?, ?, ?, ?, :now, ?) ON CONFLICT (kind, ledger_key, owner) DO UPDATE SET state = excluded.state, "
    "at = excluded.at, amount = excluded.amount, stamp = excluded.stamp, document = excluded.document"
)


class TableLedger(Ledger):
    """The ledger: of a key the claim, the reservations by their owner, and the document.

    ``ready`` returns whether there are tables, which it makes if it is asked to; it raises ``StoreError`` when they
    cannot be used.
    """

    def __init__(self, database: Database, ready: Callable[[bool], bool]) -> None:
        self._database = database
        self._ready = ready

    def claim(self, key: str, owner: str, at: str, *, ttl: float | None = None) -> Claim:
        """Return who holds the key afterwards: ``owner``, or another who claimed it before and did not fail."""

        def work(transaction: Transaction) -> Claim:
            held = _held(transaction, key)
            if held is not None and held.owner != owner and not is_replaceable(held, at, ttl):
                return held
            if held is not None and held.owner == owner and held.state == "open":
                return held
            _delete(transaction, key)
            transaction.execute(_PUT, (_CLAIM, key, owner, "open", at, "", ""))
            return Claim(owner=owner, at=at)

        return self._change(key, work)

    def settle(self, key: str, owner: str, state: Settled, at: str = "") -> bool:
        """Record how an open claim ended, and return True; False when the owner has none (any more)."""

        def work(transaction: Transaction, again: bool) -> bool:
            held = _held(transaction, key)
            if held is None or held.owner != owner or held.state != "open":
                # Of an attempt whose answer was lost, the claim is as it was to be.
                return again and held is not None and (held.owner, held.state, held.at) == (owner, state, at)
            return bool(transaction.execute(_PUT, (_CLAIM, key, owner, state, at, "", "")))

        return self._change_again(key, work)

    def reserve(self, key: str, owner: str, amount: Decimal, *, limit: Decimal, window: float | None = None) -> bool:
        """Reserve an amount unless the sum of the last ``window`` seconds would exceed ``limit``; return whether."""

        def work(transaction: Transaction) -> bool:
            others = _reserved(transaction.rows(*_reservations(key, window)))
            others.pop(owner, None)
            if sum(others.values(), amount) > limit:
                return False
            transaction.execute(_PUT, (_RESERVED, key, owner, "", "", str(amount), ""))
            return True

        return self._change(key, work)

    def total(self, key: str, window: float | None = None) -> Total:
        """Return what was reserved under a key in the last ``window`` seconds."""
        with _faults():
            rows = self._database.read(*_reservations(key, window)) if self._ready(False) else []
            found = _reserved(rows)
        return Total(count=len(found), amount=sum(found.values(), Decimal(0)))

    def put(self, key: str, value: Json) -> None:
        """Keep a document under a key, in place of the one before."""
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
        self._change(key, lambda transaction: transaction.execute(_PUT, (_DOCUMENT, key, "", "", "", "", text)))

    def get(self, key: str) -> Json:
        """Return the document under a key; None when there is none."""
        with _faults():
            sql = "SELECT document FROM gert_ledger WHERE kind = ? AND ledger_key = ?"
            found = self._database.read(sql, (_DOCUMENT, key)) if self._ready(False) else []
            try:
                value: Json = loads(found[0][0]) if found else None
            except (ValueError, TypeError):
                raise damaged("a document", found[0][0]) from None
            return value

    def entries(self, run_id: str) -> Iterator[LedgerEntry]:
        """Yield what a run claimed and reserved."""
        own = f"{run_id} "
        sql = (
            "SELECT kind, ledger_key, owner, state, at, amount, stamp FROM gert_ledger "
            "WHERE kind <> ? AND (owner = ? OR SUBSTR(owner, 1, CAST(? AS INTEGER)) = ?) "
            "ORDER BY kind, ledger_key, owner"
        )
        with _faults():
            rows = self._database.read(sql, (_DOCUMENT, run_id, len(own), own)) if self._ready(False) else []
            for kind, *values, amount, stamp in rows:
                key, owner, state, at = map(text_of, values)
                if kind == _CLAIM:
                    yield LedgerEntry(key=key, owner=owner, state=_state(state), at=at)
                else:
                    yield LedgerEntry(key=key, owner=owner, amount=_amount(amount), at=timestamp(stamp))

    def restore(self, entry: LedgerEntry) -> None:
        """Write an entry of another ledger; the same one again has no effect."""

        def work(transaction: Transaction) -> None:
            if entry.amount is not None:
                transaction.execute(_PUT, (_RESERVED, entry.key, entry.owner, "", "", str(entry.amount), ""))
                sql = "UPDATE gert_ledger SET stamp = ? WHERE kind = ? AND ledger_key = ? AND owner = ?"
                at = parse_time(entry.at).timestamp()
                transaction.execute(sql, (at, _RESERVED, entry.key, entry.owner))
            elif is_restorable(_held(transaction, entry.key), entry):
                _delete(transaction, entry.key)
                transaction.execute(_PUT, (_CLAIM, entry.key, entry.owner, str(entry.state), entry.at, "", ""))

        self._change(entry.key, work)

    def problem(self) -> str | None:
        """Return why nothing could be claimed; None if it could."""
        try:
            if self._ready(False):
                self._database.read("SELECT 1 FROM gert_ledger LIMIT 1")
        except StoreError as error:
            return error.message
        return None

    def _change(self, key: str, work: Callable[[Transaction], T]) -> T:
        return self._change_again(key, lambda transaction, _: work(transaction))

    def _change_again(self, key: str, work: Callable[[Transaction, bool], T]) -> T:
        def alone(transaction: Transaction, again: bool) -> T:
            transaction.alone(f"ledger {key}")
            return work(transaction, again)

        with _faults():
            self._ready(True)
            return self._database.repeat(
                lambda again: self._database.change(lambda transaction: alone(transaction, again))
            )


def _held(transaction: Transaction, key: str) -> Claim | None:
    found = transaction.rows(
        "SELECT owner, state, at FROM gert_ledger WHERE kind = ? AND ledger_key = ?", (_CLAIM, key)
    )
    if not found:
        return None
    owner, state, at = map(text_of, found[0])
    return Claim(owner=owner, state=_state(state), at=at)


def _state(value: str) -> ClaimState:
    if value not in get_args(ClaimState):
        raise damaged("the state of a claim", value)
    return value  # type: ignore[return-value]


def _delete(transaction: Transaction, key: str) -> None:
    transaction.execute("DELETE FROM gert_ledger WHERE kind = ? AND ledger_key = ?", (_CLAIM, key))


def _reservations(key: str, window: float | None) -> tuple[str, list[object]]:
    sql, values = "SELECT owner, amount FROM gert_ledger WHERE kind = ? AND ledger_key = ?", [_RESERVED, key]
    return (sql, [*values]) if window is None else (f"{sql} AND stamp > :now - ?", [*values, float(window)])


def _reserved(rows: list[tuple[Any, ...]]) -> dict[str, Decimal]:
    """Return by owner what is reserved."""
    return {owner: _amount(amount) for owner, amount in rows}


def _amount(value: object) -> Decimal:
    try:
        return Decimal(text_of(value))
    except InvalidOperation:
        raise damaged("an amount", value) from None


@contextmanager
def _faults() -> Iterator[None]:
    """Turn what is wrong with the store into the error of a ledger."""
    try:
        yield
    except StoreError as error:
        raise RunError(
            f"the ledger of executions cannot be used: {error.message}",
            kind=ErrorKind.LEDGER,
            hint="nothing was executed; repair the store, then resume the run",
        ) from None


__all__ = ["TableLedger"]
