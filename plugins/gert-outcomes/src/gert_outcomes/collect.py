"""Collect what past runs came to: read their rows, part them, and count."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.api import RunError, UsageError
from gert_core.api.store_records import RunQuery
from gert_core.kit.time_spans import recorded_seconds
from gert_core.kit.times import moment
from gert_outcomes.periods import Division, day_of, period_words, started_at, week_of
from gert_outcomes.summary import OutcomeCount, OutcomeReport, Part, StepRate, TrendBucket, times_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gert_core.api.store_records import RunRow
    from gert_core.hosting.past import PastRuns, PastStep
    from gert_outcomes.command import OutcomesOptions

_NOBODY: Final = "unknown"
_HOUR: Final = 13
"""The length of the beginning of a moment that names its hour; no bucket of a trend is smaller."""
_NEAR: Final = 3
"""How many names a message lists."""


class _End:
    """The runs of a part that ended alike: in which hours they began, and the seconds that they took and waited.

    Nothing is kept for each run but what its times and its steps need: there may be many.
    """

    __slots__ = ("category", "code", "durations", "hours", "runs", "status", "waits")

    def __init__(self, status: str, category: str | None, code: str) -> None:
        self.status = status
        self.category = category
        self.code = code
        self.hours: dict[str, int] = {}
        """How many began in each hour; the key is the beginning of the moment as the trace has it."""
        self.durations: list[float] = []
        self.waits: list[float] = []
        self.runs: list[str] = []

    @property
    def kind(self) -> str:
        """The category, or the status of a run without an outcome."""
        return self.category or self.status


class _Runs:
    """The runs that are asked for: their ends by part, and one of the moments of each hour in which any began."""

    def __init__(self, by: str) -> None:
        self.parts: dict[str, list[_End]] = {}
        self.moments: dict[str, datetime] = {}
        self.problems: list[dict[str, str]] = []
        self._by = by

    def read(self, rows: Iterable[RunRow], since: str | None) -> None:
        """Count all rows; one that does not tell enough is a problem."""
        found: dict[tuple[str, str, str | None, str], _End] = {}
        moments = self.moments
        for row in rows:
            began = started_at(row.started)
            if row.problem is not None or began is None or row.started is None:
                if not _before(row.run_id, since):
                    told = row.problem or "it is not known when it began"
                    self.problems.append({"run_id": row.run_id, "problem": told})
                continue
            hour = row.started[:_HOUR]
            if hour not in moments:
                moments[hour] = began
            key = (self._part(row, began), row.status, row.outcome, row.code or "")
            if (end := found.get(key)) is None:
                end = found[key] = _End(*key[1:])
                self.parts.setdefault(key[0], []).append(end)
            end.hours[hour] = end.hours.get(hour, 0) + 1
            end.runs.append(row.run_id)
            if row.finished is not None and (seconds := recorded_seconds(row.duration)) is not None:
                end.durations.append(seconds)
            if (waited := recorded_seconds(row.waited)) is not None:
                end.waits.append(waited)

    def _part(self, row: RunRow, began: datetime) -> str:
        if self._by == "runbook":
            return row.runbook
        if self._by == "actor":
            return row.actor or _NOBODY
        return day_of(began) if self._by == "day" else week_of(began)


def collect(past: PastRuns, wanted: OutcomesOptions) -> OutcomeReport:
    """Return what the runs came to that are asked for; raise ``UsageError`` for a runbook that no run is of."""
    since = None if wanted.since is None else moment(wanted.since, what="--since")
    runs = _Runs(wanted.by)
    runs.read(past.rows(RunQuery(mode="real", runbook=wanted.runbook, since=since)), since)
    if wanted.runbook is not None and not runs.parts:
        _check_name(wanted.runbook, past)
    now = datetime.now(UTC)
    steps = _steps(past, runs) if wanted.steps else None
    return OutcomeReport(
        by=wanted.by,
        period=period_words(wanted.since),
        since=since,
        place=past.place,
        made=f"{now:%Y-%m-%d %H:%M} UTC",
        parts=_parts(runs, wanted, steps, begin=started_at(since), end=now),
        problems=runs.problems,
    )


def _parts(
    runs: _Runs,
    wanted: OutcomesOptions,
    steps: Mapping[str, Sequence[PastStep]] | None,
    *,
    begin: datetime | None,
    end: datetime,
) -> list[Part]:
    parts = runs.parts
    if wanted.by in ("day", "week"):
        made = []
        for name in sorted(parts):
            moments = [runs.moments[hour] for found in parts[name] for hour in found.hours]
            made.append(_part(name, parts[name], runs.moments, Division(min(moments), max(moments)), wanted, steps))
        return made
    # One division for all parts: their trends can be compared.
    moments = list(runs.moments.values()) or [end]
    division = Division(begin or min(moments), max(moments) if begin is None else max(*moments, end))
    order = sorted(parts, key=lambda name: (-sum(len(found.runs) for found in parts[name]), name))
    return [_part(name, parts[name], runs.moments, division, wanted, steps) for name in order]


def _part(
    name: str,
    ends: Sequence[_End],
    moments: Mapping[str, datetime],
    division: Division,
    wanted: OutcomesOptions,
    steps: Mapping[str, Sequence[PastStep]] | None,
) -> Part:
    executed = None
    if steps is not None:
        executed = [step for end in ends for run_id in end.runs for step in steps.get(run_id, ())]
    return Part(
        name=name,
        runs=sum(len(end.runs) for end in ends),
        ends=_counts(ends, timed=wanted.form == "csv"),
        trend=_trend(ends, moments, division),
        duration=times_of([seconds for end in ends for seconds in end.durations]),
        waiting=times_of([seconds for end in ends for seconds in end.waits]),
        steps=None if executed is None else _rates(executed),
    )


def _counts(ends: Iterable[_End], *, timed: bool) -> list[OutcomeCount]:
    counts = [
        OutcomeCount(
            status=end.status,
            category=end.category,
            code=end.code,
            count=len(end.runs),
            duration=times_of(end.durations) if timed else None,
            waiting=times_of(end.waits) if timed else None,
        )
        for end in ends
    ]
    return sorted(counts, key=lambda end: (-end.count, end.status, end.category or "", end.code))


def _trend(ends: Iterable[_End], moments: Mapping[str, datetime], division: Division) -> list[TrendBucket]:
    counts: list[dict[str, int]] = [{} for _ in range(division.count)]
    for end in ends:
        for hour, count in end.hours.items():
            bucket = counts[division.at(moments[hour])]
            bucket[end.kind] = bucket.get(end.kind, 0) + count
    return [
        TrendBucket(begin=begin, label=label, counts=bucket)
        for (begin, label), bucket in zip(division.begins(), counts, strict=True)
    ]


def _steps(past: PastRuns, runs: _Runs) -> dict[str, list[PastStep]]:
    """Return the steps of all runs; a run that was removed meanwhile or cannot be read whole has none."""
    found = {}
    for run_id in (run_id for ends in runs.parts.values() for end in ends for run_id in end.runs):
        try:
            found[run_id] = past.steps(run_id)
        except RunError as error:
            runs.problems.append({"run_id": run_id, "problem": f"its steps cannot be read: {error.message}"})
    return found


def _rates(steps: Iterable[PastStep]) -> list[StepRate]:
    found: dict[tuple[str, str], list[PastStep]] = {}
    for step in steps:
        found.setdefault((step.name, step.type), []).append(step)
    rates = [
        StepRate(
            step=name,
            type=type_,
            runs=len(same),
            failures=sum(step.failed for step in same),
            duration=times_of(_known(step.duration for step in same)),
            waiting=times_of(_known(step.waited for step in same)),
        )
        for (name, type_), same in found.items()
    ]
    return sorted(rates, key=lambda rate: (-rate.rate, -rate.failures, -rate.runs, rate.step))


def _known(texts: Iterable[str | None]) -> list[float]:
    return [seconds for text in texts if text is not None and (seconds := recorded_seconds(text)) is not None]


def _before(run_id: str, since: str | None) -> bool:
    """Return whether an id says that its run began earlier; those of runs begin with a moment."""
    if since is None or run_id[8:9] != "T" or run_id[15:16] != "Z":
        return False
    return run_id[:15] < since[:19].replace("-", "").replace(":", "")


def _check_name(name: str, past: PastRuns) -> None:
    known = {row.runbook for row in past.rows(RunQuery(mode="real")) if row.problem is None}
    if not known or name in known:
        return
    from gert_core.kit.nearest import nearest

    near = nearest(name, sorted(known))
    hint = f"did you mean `{near}`?" if near is not None else _all_names(sorted(known))
    raise UsageError(f"no run is of a runbook {name!r}", hint=hint)


def _all_names(known: Sequence[str]) -> str:
    more = f" and {len(known) - _NEAR} more" if len(known) > _NEAR else ""
    return f"there are runs of {', '.join(known[:_NEAR])}{more}"


__all__ = ["collect"]
