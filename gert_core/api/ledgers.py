"""Ledgers, which keep what is claimed and reserved over all runs of a store: the interface that every store has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from gert_core.api.data import Json
    from gert_core.api.store_records import Claim, LedgerEntry, Settled, Total


class Ledger(ABC):
    """What is claimed and reserved over all runs and processes of a store; every change is durable on return.

    Keys are SHA-256 in hex. What cannot be read or written raises ``RunError`` with the kind ``ledger``, so that
    nothing is done for which a claim was needed.
    """

    @abstractmethod
    def claim(self, key: str, owner: str, at: str, *, ttl: float | None = None) -> Claim:
        """Return who holds the key afterwards: ``owner``, or another who claimed it before and did not fail.

        An owner claims its own key again freely. With ``ttl`` an open claim that was made more than as many seconds
        before ``at`` is replaced too.
        """

    @abstractmethod
    def settle(self, key: str, owner: str, state: Settled, at: str = "") -> bool:
        """Record how an open claim ended, and return True; False when the owner has none (any more).

        A key that failed can be claimed by others.
        """

    @abstractmethod
    def reserve(self, key: str, owner: str, amount: Decimal, *, limit: Decimal, window: float | None = None) -> bool:
        """Reserve an amount unless the sum of the last ``window`` seconds would exceed ``limit``; return whether.

        An owner has one reservation under a key: a second one replaces the first. Without ``window`` all count. The
        clock is the store's.
        """

    @abstractmethod
    def total(self, key: str, window: float | None = None) -> Total:
        """Return what was reserved under a key in the last ``window`` seconds."""

    @abstractmethod
    def put(self, key: str, value: Json) -> None:
        """Keep a document under a key, in place of the one before."""

    @abstractmethod
    def get(self, key: str) -> Json:
        """Return the document under a key; None when there is none."""

    @abstractmethod
    def entries(self, run_id: str) -> Iterator[LedgerEntry]:
        """Yield what a run claimed and reserved: everything whose owner is its id, or begins with it and a space."""

    @abstractmethod
    def restore(self, entry: LedgerEntry) -> None:
        """Write an entry of another ledger; the same one again has no effect.

        A claim that another run has here, and that did not fail, stays.
        """

    def problem(self) -> str | None:
        """Return why nothing could be claimed, as far as that can be found out without writing; None if it could."""
        return None


__all__ = ["Ledger"]
