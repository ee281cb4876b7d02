"""Signals that end a list of steps early: their rank, and combining several into one."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.runs.state import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.api import Outcome


class Rank(IntEnum):
    """The rank of signals; the highest of several applies, so a failed branch outranks one that ended."""

    ENDED = 1
    FAILED = 2
    DENIED = 3
    SUSPENDED = 4
    CANCELLED = 5


class Signal(Struct, frozen=True, kw_only=True):
    """The reason why a list of steps does not continue, with all tickets and failures that belong to it."""

    rank: Rank
    failures: tuple[Failure, ...] = ()
    tickets: tuple[str, ...] = ()
    outcome: Outcome | None = None
    outcome_key: str | None = None

    @property
    def status(self) -> str:
        """``error`` when any failure is an error, else ``failed``."""
        return "error" if any(f.status == "error" for f in self.failures) else "failed"

    @property
    def first(self) -> Failure:
        """The failure to name first: errors before failed steps, then in declaration order."""
        return next((f for f in self.failures if f.status == self.status), self.failures[0])

    @property
    def ordered(self) -> tuple[Failure, ...]:
        """All failures, errors first."""
        return tuple(sorted(self.failures, key=lambda f: f.status != "error"))


class SignalCollector(Struct):
    """The signals of the blocks a step ran, in declaration order, and the worst of them."""

    worst: Signal | None = None
    seen: list[Signal] = field(default_factory=list)

    def add(self, signals: Iterable[Signal | None]) -> None:
        """Add the signals of blocks, given in declaration order."""
        self.seen.extend(signal for signal in signals if signal is not None)
        if not self.seen:
            return
        worst = max(signal.rank for signal in self.seen)
        first = next(signal for signal in self.seen if signal.rank == worst)
        self.worst = Signal(
            rank=worst,
            failures=tuple(f for signal in self.seen for f in signal.failures),
            tickets=tuple(t for signal in self.seen for t in signal.tickets),
            outcome=first.outcome,
            outcome_key=first.outcome_key,
        )


class Unwind(BaseException):
    """The exit from a step type's ``run`` because of a signal of its blocks; no ``except Exception`` catches it."""


CANCELLED: Final = Signal(rank=Rank.CANCELLED)


__all__ = ["CANCELLED", "Failure", "Rank", "Signal", "SignalCollector", "Unwind"]
