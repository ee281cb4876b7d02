"""Follow a run while another process executes it: its events, and how far it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gert_core.api.events import EventType
from gert_core.runs.fold import Fold
from gert_core.runs.lifecycle.followers import LOOK, Followers
from gert_core.runs.lifecycle.progress import TASK_PROGRESS, is_stage, progress_of
from gert_core.trace.follow import TraceFollower
from gert_core.trace.reader import altered, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gert_core.api.events import TraceEvent
    from gert_core.api.stores import StoredRun
    from gert_core.runs.lifecycle.progress import RunProgress

ABANDONED: Final = 2.0
"""How many seconds without a process a run is followed: the next one may be about to begin."""
_STEP: Final = (EventType.STEP_START, EventType.STEP_COMPLETE)
_RUN: Final = (EventType.RUN_START, EventType.RUN_COMPLETE, EventType.RUN_SUSPENDED, EventType.RUN_RESUMED)


def follow_events(
    run: StoredRun,
    *,
    since_seq: int = 0,
    follow: bool = False,
    through_suspend: bool = False,
    sleep: Callable[[float], object] = time.sleep,
    followers: Followers | None = None,
) -> Iterator[TraceEvent]:
    """Yield the events of a run after ``since_seq``; with ``follow`` also those that are still to come.

    It ends at ``run_complete``, at ``run_suspended`` unless ``through_suspend``, and when no process has executed the
    run for two seconds: then the run is interrupted, which its status tells; and when ``sleep`` returns True. Several
    who follow a run in one process share ``followers``, so that its store is read once.
    """
    found = follow_lines(
        run, since_seq=since_seq, follow=follow, through_suspend=through_suspend, sleep=sleep, followers=followers
    )
    return (event for event, _ in found)


def follow_lines(
    run: StoredRun,
    *,
    since_seq: int = 0,
    follow: bool = False,
    through_suspend: bool = False,
    sleep: Callable[[float], object] = time.sleep,
    followers: Followers | None = None,
) -> Iterator[tuple[TraceEvent, bytes]]:
    """Yield the same events, each with its line as it was written, without the newline."""
    seq, last = since_seq, ""
    for event, line in TraceFollower(run, since_seq).read():
        seq, last = event.seq, event.type
        yield event, line
    if follow:
        yield from _to_come(run, seq, last or _last_type(run), through_suspend, sleep, followers or Followers())


def _to_come(
    run: StoredRun,
    seq: int,
    last: str,
    through_suspend: bool,
    sleep: Callable[[float], object],
    followers: Followers,
) -> Iterator[tuple[TraceEvent, bytes]]:
    """Yield what comes behind an event, until nothing more is to be expected."""
    ends = (EventType.RUN_COMPLETE,) if through_suspend else (EventType.RUN_COMPLETE, EventType.RUN_SUSPENDED)
    shared, alone = followers.join(run, seq), None
    try:
        while last not in ends:
            found = shared.after(seq)
            for event, line in TraceFollower(run, seq).read() if found is None else found:
                seq, last = event.seq, event.type
                yield event, line
            if last in ends:
                return
            if shared.held or last == EventType.RUN_SUSPENDED:
                alone = None
            elif alone is None:
                alone = time.monotonic()
            elif time.monotonic() - alone >= ABANDONED:
                return
            if sleep(LOOK) is True:
                return
    finally:
        followers.leave(run)


def _last_type(run: StoredRun) -> str:
    """Return the type of the last event there is."""
    line = run.last_line()
    try:
        return decode(line).type if line else ""
    except ValueError as error:
        raise altered(run.place, error) from None


def each_progress(events: Iterable[TraceEvent]) -> Iterator[RunProgress]:
    """Yield how far a run is after its events, given from its first one on; no value twice in a row."""
    fold, before = Fold(), None
    for event in events:
        fold.feed(event)
        if not _moves(event):
            continue
        now = progress_of(fold.state)
        if now != before:
            yield now
            before = now


def _moves(event: TraceEvent) -> bool:
    """Return whether an event can change how far a run is, so that not every event of a long run is counted anew."""
    if event.type in _RUN:
        return True
    if event.type == EventType.RUN_SUMMARY:
        return event.data.get("summary_type") == TASK_PROGRESS
    return event.step_key is not None and is_stage(event.step_key) and event.type in _STEP


__all__ = ["ABANDONED", "each_progress", "follow_events", "follow_lines"]
