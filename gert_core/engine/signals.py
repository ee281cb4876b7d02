"""Signals that end a list of steps early: their rank, and combining several into one."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from gert_core.api import ErrorKind, RunStatus, StepStatus
from gert_core.runs.state import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.api import Outcome


class Rank(IntEnum):
    """The rank of signals; the highest of several applies, so a failed branch outranks one that ended.

    ``FAILED`` may be caught. ``DENIED`` may not, and no ``continue_on_fail`` applies to it: after cleanup the run ends.
    """

    NOT_STARTED = 0
    ENDED = 1
    FAILED = 2
    DENIED = 3
    SUSPENDED = 4
    CANCELLED = 5


_WEIGHTS: Final = {str(StepStatus.ERROR): 0, str(StepStatus.SKIPPED): 1}
"""Which failures come before those of failed steps: a step that was denied or not approved has been skipped."""


class Signal(Struct, frozen=True, kw_only=True):
    """The reason why a list of steps does not continue, with all tickets and failures that belong to it."""

    rank: Rank
    failures: tuple[Failure, ...] = ()
    later: tuple[Failure, ...] = ()
    """Failures of the cleanup after those failures; they are named, and decide nothing."""
    tickets: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """Keys of the steps whose questions are to be answered before they go on."""
    blocked: tuple[str, ...] = ()
    """Keys that unblock steps which requested a pause."""
    outcome: Outcome | None = None
    outcome_key: str | None = None
    again: tuple[str, ...] = ()
    """Keys of finished steps that have to run again, because the value of a secret output of theirs is needed."""

    @property
    def idle(self) -> bool:
        """Whether a suspended run waits for no person: it can be resumed at once, or does not name one."""
        return bool(self.again) or not (self.tickets or self.questions or self.blocked)

    @property
    def status(self) -> str:
        """``error`` when any failure is an error, else ``failed``."""
        return "error" if any(f.status == "error" for f in self.failures) else "failed"

    @property
    def first(self) -> Failure:
        """The failure to name first: errors, then denials, which end the run, then failed steps; as declared."""
        return min(self.failures, key=_weight)

    @property
    def ordered(self) -> tuple[Failure, ...]:
        """All failures, the one to name first in front; those of the cleanup come last."""
        return (*sorted(self.failures, key=_weight), *self.later)


def _weight(failure: Failure) -> int:
    return _WEIGHTS.get(failure.status, len(_WEIGHTS))


class SignalCollector(Struct):
    """The signals of the blocks a step ran, in declaration order, and the worst of them."""

    worst: Signal | None = None
    seen: list[Signal] = field(default_factory=list)
    cleanup: tuple[Signal, ...] = ()
    """The signals of cleanup blocks, which run after a failure or an end."""

    def add(self, signals: Iterable[Signal | None], *, cleanup: bool = False, first: bool = False) -> None:
        """Add the signals of blocks, given in declaration order; ``first``: they came before all others."""
        given = [signal for signal in signals if signal is not None]
        if cleanup:
            self.cleanup = (*self.cleanup, *given)
        else:
            self.seen = [*given, *self.seen] if first else [*self.seen, *given]
        if not self.seen and not self.cleanup:
            return
        every = [*self.seen, *self.cleanup]
        worst = max(signal.rank for signal in every)
        leading = next(signal for signal in every if signal.rank == worst)
        failures = tuple(f for signal in self.seen for f in signal.failures)
        later = tuple(f for signal in self.seen for f in signal.later)
        later += tuple(f for signal in self.cleanup for f in (*signal.failures, *signal.later))
        ended = next((signal for signal in every if signal.rank is Rank.ENDED), None)
        if ended is not None and worst in (Rank.FAILED, Rank.DENIED) and not failures:  # cleanup failed after the end
            worst, later = Rank.DENIED, _after_end(later, ended)
        self.worst = Signal(
            rank=worst,
            failures=failures or later,
            later=later if failures else (),
            tickets=tuple(t for signal in every for t in signal.tickets),
            questions=tuple(key for signal in every for key in signal.questions),
            blocked=tuple(key for signal in every for key in signal.blocked),
            outcome=leading.outcome,
            outcome_key=leading.outcome_key,
            again=tuple(key for signal in every for key in signal.again),
        )


def _after_end(failures: tuple[Failure, ...], ended: Signal) -> tuple[Failure, ...]:
    """Return failures of a cleanup with the outcome that the run had reached before it and does not have now."""
    if not failures or ended.outcome is None:
        return failures
    outcome = ended.outcome
    reached = f"{outcome.category} ({outcome.code})" if outcome.code else str(outcome.category)
    message = f"{failures[0].message} (the run had reached the outcome {reached})"
    return (replace(failures[0], message=message), *failures[1:])


class Unwind(BaseException):
    """The exit from a step type's ``run`` because of a signal of its blocks; no ``except Exception`` catches it."""


def run_status(signal: Signal | None) -> RunStatus:
    """Return the status of a run that this signal ends."""
    if signal is None or signal.rank is Rank.ENDED:
        return RunStatus.COMPLETED
    if signal.rank is Rank.CANCELLED:
        return RunStatus.CANCELLED
    return RunStatus.ERROR if signal.status == "error" else RunStatus.FAILED


CANCELLED: Final = Signal(rank=Rank.CANCELLED)
NOT_STARTED: Final = Signal(rank=Rank.NOT_STARTED)
"""The result of a block that was not started, because one that it comes after did not succeed; not a signal."""
NO_OUTCOME: Final = Signal(
    rank=Rank.FAILED,
    failures=(
        Failure(
            key="",
            step_id="",
            status="error",
            kind=ErrorKind.NO_OUTCOME,
            message="the steps ended without an outcome",
        ),
    ),
)
"""What becomes of a run whose steps come to their end."""


__all__ = [
    "CANCELLED",
    "NOT_STARTED",
    "NO_OUTCOME",
    "Failure",
    "Rank",
    "Signal",
    "SignalCollector",
    "Unwind",
    "run_status",
]
