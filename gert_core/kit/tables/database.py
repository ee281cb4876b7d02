"""The connection to a database that a plugin gives, and how its SQL differs from that of others."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from msgspec import Struct

from gert_core.api.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gert_core.api.store_records import RunRow

T = TypeVar("T")
Values = "Sequence[object]"
PATIENCE: Final = 30.0
"""For how many seconds a change is tried again when the connection was lost."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


class LostError(StoreError):
    """The connection was lost: nothing is known of a change that was under way."""


class Group(Struct, frozen=True, kw_only=True):
    """Lines that are written together, by the holder of a lease, behind the line with the number ``before``.

    ``row`` is the run's row behind them; ``told`` says whether more of it changed than ``last_seq`` and ``updated``.
    """

    run_id: str
    fence: int
    before: int
    lines: Sequence[bytes]
    row: RunRow
    told: bool

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.before + len(self.lines)


class Transaction(ABC):
    """Statements that have an effect together or not at all."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows."""

    @abstractmethod
    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement and return how many rows it changed."""

    @abstractmethod
    def alone(self, name: str) -> None:
        """Wait until no other transaction has asked for the same name; it is given back with the end of this one."""


class Database(ABC):
    """A connection, made when it is first used; its methods may be called from several threads.

    SQL is written with ``?`` for values and ``:now`` for the seconds since 1970 by the database's clock. Methods raise
    ``StoreError``, and ``LostError`` when the connection broke.
    """

    backend: ClassVar[str]
    served: ClassVar[bool] = False
    """Whether it is a server's; see ``RunStore.served``."""
    secrets: ClassVar[tuple[str, ...]] = ()
    """The variables that its driver reads passwords from; see ``RunStore.secrets``."""
    late_rows: ClassVar[bool] = False
    """Whether ``add`` leaves the row of a run alone when only number and time of its last line changed."""
    types: ClassVar[Mapping[str, str]]
    """The words for the types ``bytes``, ``integer`` and ``real``."""
    url: str
    """The address without its password."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there is a database that could have tables; nothing is made for that."""

    @abstractmethod
    def has_tables(self) -> bool:
        """Return whether the table ``gert_schema`` is there."""

    @abstractmethod
    def read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; what the loss of a connection interrupts is asked again on a new one."""

    @abstractmethod
    def change(self, work: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """Do the work in one transaction, which survives a power loss on return if it is ``durable``."""

    @abstractmethod
    def add(self, group: Group, *, durable: bool) -> bool:
        """Write lines and row in one transaction; False, and nothing is written, when fence or last line differ.

        Without lines it only makes those so far durable.
        """

    @abstractmethod
    def twin(self) -> Database:
        """Return another connection to the same database."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; a later call makes a new one."""

    def news(self, run_id: str) -> bool:
        """Return whether a run may have lines that it had not when this was last asked; who is not told says True."""
        return True

    def forget(self, run_id: str) -> None:  # noqa: B027 - most are told of nothing
        """Have no more lines of a run announced."""

    def repeat(
        self,
        attempt: Callable[[bool], T],
        *,
        until: Callable[[], float] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> T:
        """Return what the attempt returns, which is made again when the connection is lost, on a new one.

        It is told whether it is made again, and finds out itself whether the one before had an effect. ``until`` says
        when to give up, by the monotonic clock; at least one more is made.
        """
        end, pause, again = time.monotonic() + PATIENCE, 0.0, False
        while True:
            try:
                return attempt(again)
            except LostError as error:
                if again and time.monotonic() + pause > (end if until is None else until()):
                    raise
                if not again:
                    warn(f"{error.message}; gert connects again")
            time.sleep(pause)
            again, pause = True, min(_LONGEST_PAUSE, pause * 2 or _FIRST_PAUSE)


def marks(values: Iterable[object]) -> str:
    """Return a question mark for each value, for ``IN (...)`` and ``VALUES (...)``."""
    return ", ".join("?" for _ in values)


__all__ = ["PATIENCE", "Database", "Group", "LostError", "Transaction", "marks"]
