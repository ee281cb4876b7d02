"""Collect what past runs came to: read their rows, part them, and count."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.api import RunError, UsageError
from gert_core.api.store_records import RunQuery
from gert_core.hosting.past import PastRuns
from gert_core.kit.time_spans import recorded_seconds
from gert_core.kit.times import moment
from gert_outcomes.periods import Division, day_of, period_words, started_at, week_of
from gert_outcomes.summary import OutcomeCount, OutcomeReport, Part, StepRate, TrendBucket, times_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from gert_core.api import RunStore
    from gert_core.api.store_records import RunRow
    from gert_core.hosting.past import PastStep
    from gert_outcomes.command import OutcomesOptions
    from gert_outcomes.summary import Times

_NOBODY: Final = "unknown"
_NEAR: Final = 3
"""How many names a message lists."""


class _Run:
    """A run, when it began, and the seconds that it took and waited, where they are known."""

    __slots__ = ("began", "duration", "row", "waited")

    def __init__(self, row: RunRow, began: datetime) -> None:
        self.row = row
        self.began = began
        self.duration = None if row.finished is None else recorded_seconds(row.duration)
        self.waited = recorded_seconds(row.waited)


def collect(store: RunStore, wanted: OutcomesOptions, *, traces: Path | None) -> OutcomeReport:
    """Return what the runs came to that are asked for; raise ``UsageError`` for a runbook that no run is of."""
    since = None if wanted.since is None else moment(wanted.since, what="--since")
    past = PastRuns(store, traces=traces)
    runs: list[_Run] = []
    problems: list[dict[str, str]] = []
    for row in past.rows(RunQuery(mode="real", runbook=wanted.runbook, since=since)):
        began = started_at(row.started)
        if row.problem is None and began is not None:
            runs.append(_Run(row, began))
        elif not _before(row.run_id, since):
            problems.append({"run_id": row.run_id, "problem": row.problem or "it is not known when it began"})
    if wanted.runbook is not None and not runs:
        _check_name(wanted.runbook, past)
    now = datetime.now(UTC)
    steps = _steps(past, runs, problems) if wanted.steps else None
    return OutcomeReport(
        by=wanted.by,
        period=period_words(wanted.since),
        since=since,
        place=store.place,
        made=f"{now:%Y-%m-%d %H:%M} UTC",
        parts=_parts(runs, wanted, steps, begin=started_at(since), end=now),
        problems=problems,
    )


def _parts(
    runs: Sequence[_Run],
    wanted: OutcomesOptions,
    steps: Mapping[str, Sequence[PastStep]] | None,
    *,
    begin: datetime | None,
    end: datetime,
) -> list[Part]:
    found: dict[str, list[_Run]] = {}
    for run in runs:
        found.setdefault(_name(run, wanted.by), []).append(run)
    if wanted.by in ("day", "week"):
        return [_part(name, found[name], wanted, steps) for name in sorted(found)]
    # One division for all parts: their trends can be compared.
    moments = [run.began for run in runs] or [end]
    division = Division(begin or min(moments), max(moments) if begin is None else max(*moments, end))
    order = sorted(found, key=lambda name: (-len(found[name]), name))
    return [_part(name, found[name], wanted, steps, division) for name in order]


def _name(run: _Run, by: str) -> str:
    if by == "runbook":
        return run.row.runbook
    if by == "actor":
        return run.row.actor or _NOBODY
    return day_of(run.began) if by == "day" else week_of(run.began)


def _part(
    name: str,
    runs: Sequence[_Run],
    wanted: OutcomesOptions,
    steps: Mapping[str, Sequence[PastStep]] | None,
    division: Division | None = None,
) -> Part:
    executed = None if steps is None else [step for run in runs for step in steps.get(run.row.run_id, ())]
    return Part(
        name=name,
        runs=len(runs),
        ends=_ends(runs, timed=wanted.form == "csv"),
        trend=_trend(runs, division),
        duration=_durations(runs),
        waiting=_waits(runs),
        steps=None if executed is None else _rates(executed),
    )


def _ends(runs: Iterable[_Run], *, timed: bool) -> list[OutcomeCount]:
    found: dict[tuple[str, str | None, str], list[_Run]] = {}
    for run in runs:
        row = run.row
        found.setdefault((row.status, row.outcome, row.code or ""), []).append(run)
    ends = [
        OutcomeCount(
            status=status,
            category=category,
            code=code,
            count=len(same),
            duration=_durations(same) if timed else None,
            waiting=_waits(same) if timed else None,
        )
        for (status, category, code), same in found.items()
    ]
    return sorted(ends, key=lambda end: (-end.count, end.status, end.category or "", end.code))


def _trend(runs: Sequence[_Run], division: Division | None) -> list[TrendBucket]:
    if division is None:
        moments = [run.began for run in runs]
        division = Division(min(moments), max(moments))
    counts: list[dict[str, int]] = [{} for _ in range(division.count)]
    numbers: dict[str, int] = {}
    for run in runs:
        hour = (run.row.started or "")[:13]  # no bucket is smaller
        if (number := numbers.get(hour)) is None:
            number = numbers[hour] = division.at(run.began)
        bucket, kind = counts[number], run.row.outcome or run.row.status
        bucket[kind] = bucket.get(kind, 0) + 1
    return [
        TrendBucket(begin=begin, label=label, counts=bucket)
        for (begin, label), bucket in zip(division.begins(), counts, strict=True)
    ]


def _steps(past: PastRuns, runs: Sequence[_Run], problems: list[dict[str, str]]) -> dict[str, list[PastStep]]:
    """Return the steps of all runs; a run that was removed meanwhile or cannot be read whole has none."""
    found = {}
    for run in runs:
        try:
            found[run.row.run_id] = past.steps(run.row.run_id)
        except RunError as error:
            problems.append({"run_id": run.row.run_id, "problem": f"its steps cannot be read: {error.message}"})
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


def _durations(runs: Iterable[_Run]) -> Times | None:
    return times_of([run.duration for run in runs if run.duration is not None])


def _waits(runs: Iterable[_Run]) -> Times | None:
    return times_of([run.waited for run in runs if run.waited is not None])


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
