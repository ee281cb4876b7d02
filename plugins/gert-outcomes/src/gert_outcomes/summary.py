"""The summary of past runs: its records, and the document that they make."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

CATEGORIES: Final = ("resolved", "escalated", "no_action", "needs_rca")
"""The categories of outcomes, in the order in which they are shown."""
STATUSES: Final = (
    "completed",
    "failed",
    "error",
    "cancelled",
    "interrupted",
    "approval_pending",
    "answer_pending",
    "blocked",
    "queued",
    "running",
)
"""The statuses of runs without an outcome, in the order in which they are shown."""


class Times(Struct, frozen=True, kw_only=True):
    """Half of the times are at most ``p50`` seconds, and 95 of 100 at most ``p95``; ``runs`` is how many there are."""

    runs: int
    p50: float
    p95: float

    def to_json(self) -> dict[str, Any]:
        """Return the times as documents have them, in seconds."""
        return {"runs": self.runs, "p50": self.p50, "p95": self.p95}


class OutcomeCount(Struct, frozen=True, kw_only=True):
    """How many runs had the same end: its status, and of completed runs the outcome, if they have one."""

    status: str
    category: str | None
    code: str
    count: int
    duration: Times | None = None
    waiting: Times | None = None

    @property
    def kind(self) -> str:
        """The category, or the status of a run without an outcome."""
        return self.category or self.status


class TrendBucket(Struct, frozen=True, kw_only=True):
    """How many runs of each kind began in a time; ``begin`` is its first moment."""

    begin: str
    label: str
    counts: dict[str, int]


class StepRate(Struct, frozen=True, kw_only=True):
    """How often a step was executed and failed."""

    step: str
    type: str
    runs: int
    failures: int
    duration: Times | None = None
    waiting: Times | None = None

    @property
    def rate(self) -> float:
        """The share of executions that failed."""
        return self.failures / self.runs

    def to_json(self) -> dict[str, Any]:
        """Return the step as the document has it."""
        return {
            "step": self.step,
            "type": self.type,
            "runs": self.runs,
            "failures": self.failures,
            "rate": round(self.rate, 4),
            "duration": _times(self.duration),
            "waiting": _times(self.waiting),
        }


class Part(Struct, frozen=True, kw_only=True):
    """The runs of one runbook, actor, day or week."""

    name: str
    runs: int
    ends: Sequence[OutcomeCount]
    trend: Sequence[TrendBucket]
    duration: Times | None = None
    waiting: Times | None = None
    steps: Sequence[StepRate] | None = None
    """None when they were not asked for."""

    @property
    def kinds(self) -> dict[str, int]:
        """How many runs there are of each kind, in the order in which they are shown."""
        found: dict[str, int] = {}
        for end in self.ends:
            found[end.kind] = found.get(end.kind, 0) + end.count
        order = {name: number for number, name in enumerate((*CATEGORIES, *STATUSES))}
        return dict(sorted(found.items(), key=lambda one: (order.get(one[0], len(order)), one[0])))

    @property
    def codes(self) -> list[tuple[str, str, int]]:
        """Category, code and number of the outcomes that have a code, the most frequent first."""
        found = [(end.category or "", end.code, end.count) for end in self.ends if end.code]
        return sorted(found, key=lambda one: (-one[2], one[1], one[0]))

    def to_json(self, by: str) -> dict[str, Any]:
        """Return the part as the document has it."""
        statuses: dict[str, int] = {}
        for end in self.ends:
            statuses[end.status] = statuses.get(end.status, 0) + end.count
        outcomes = [end for end in self.ends if end.category is not None]
        return {
            by: self.name,
            "runs": self.runs,
            "statuses": statuses,
            "outcomes": [{"category": end.category, "code": end.code, "count": end.count} for end in outcomes],
            "trend": [{"from": bucket.begin, "counts": bucket.counts} for bucket in self.trend],
            "duration": _times(self.duration),
            "waiting": _times(self.waiting),
            **({} if self.steps is None else {"steps": [step.to_json() for step in self.steps]}),
        }


class OutcomeReport(Struct, frozen=True, kw_only=True):
    """What past runs came to."""

    by: str
    period: str
    """The time that was asked for, in words; empty for all of it."""
    place: str
    made: str
    parts: Sequence[Part]
    since: str | None = None
    problems: Sequence[dict[str, str]] = ()

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return sum(part.runs for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``gert outcomes --json``."""
        return {
            "since": self.since,
            f"{self.by}s": [part.to_json(self.by) for part in self.parts],
            "problems": list(self.problems),
        }


def times_of(seconds: Sequence[float]) -> Times | None:
    """Return what half and 95 of 100 times do not exceed, each of them a time that there was; None without any."""
    if not seconds:
        return None
    found = sorted(seconds)
    at = [found[ceil(share * len(found) / 100) - 1] for share in (50, 95)]
    return Times(runs=len(found), p50=round(at[0], 3), p95=round(at[1], 3))


def _times(found: Times | None) -> dict[str, Any] | None:
    return None if found is None else found.to_json()


__all__ = [
    "CATEGORIES",
    "STATUSES",
    "OutcomeCount",
    "OutcomeReport",
    "Part",
    "StepRate",
    "Times",
    "TrendBucket",
    "times_of",
]
