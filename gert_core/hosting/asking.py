"""Ask where the runs of a store stand, by their ids.

``store`` is the store or its address, ``root`` the directory of runs; without both it is the store of the project
around the working directory.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.progress import progress_of
from gert_core.runs.lifecycle.status import resume_point_of, standing_of
from gert_core.runs.lifecycle.stream import each_progress, follow_events
from gert_core.runs.listing import list_runs, run_info
from gert_core.stores.choose import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gert_core.api import RunStore
    from gert_core.api.events import TraceEvent
    from gert_core.plugin.registry import Registry
    from gert_core.runs.lifecycle.progress import RunProgress
    from gert_core.runs.lifecycle.status import ResumePoint, Standing
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState

    Root = str | Path | None
    Store = str | RunStore | None


def status(run_id: str, *, root: Root = None, store: Store = None) -> Standing:
    """Return where a run stands, or that it is ``unreadable``."""
    with _opened(store, root) as kept:
        return standing_of(_info(run_id, kept))


def progress(run_id: str, *, root: Root = None, store: Store = None) -> RunProgress:
    """Return how far a run is."""
    with _opened(store, root) as kept:
        return progress_of(_state(_info(run_id, kept)))


def stream(
    run_id: str,
    *,
    root: Root = None,
    store: Store = None,
    since_seq: int = 0,
    follow: bool = False,
    through_suspend: bool = False,
) -> Iterator[TraceEvent]:
    """Yield the events of a run after ``since_seq``; with ``follow`` those to come too, until it ends.

    It ends at ``run_complete``, at ``run_suspended`` unless ``through_suspend``, and when no process has executed the
    run for two seconds.
    """
    with ExitStack() as stack:
        kept = stack.enter_context(_opened(store, root))
        run = stack.enter_context(find_run(kept, run_id))
        events = follow_events(run, since_seq=since_seq, follow=follow, through_suspend=through_suspend)
        return _closing(events, stack.pop_all())


def _closing(events: Iterator[TraceEvent], stack: ExitStack) -> Iterator[TraceEvent]:
    with closing(stack):
        yield from events


def stream_progress(
    run_id: str, *, root: Root = None, store: Store = None, follow: bool = False, through_suspend: bool = False
) -> Iterator[RunProgress]:
    """Yield how far a run was after each of its events, and with ``follow`` is; no value twice in a row."""
    return each_progress(stream(run_id, root=root, store=store, follow=follow, through_suspend=through_suspend))


def active(*, root: Root = None, store: Store = None) -> list[Standing]:
    """Return the runs that are executed, queued or interrupted, the newest first."""
    with _opened(store, root) as kept:
        found = (standing_of(info) for info in list_runs(kept))
        return [standing for standing in found if standing.lifecycle == "active"]


def resume_point(run_id: str, *, root: Root = None, store: Store = None) -> ResumePoint:
    """Return where a run would go on, and what it needs before it does."""
    with _opened(store, root) as kept:
        info = _info(run_id, kept)
        return resume_point_of(_state(info), live=info.live)


def artifacts(run_id: str, *, root: Root = None, store: Store = None) -> dict[str, dict[str, Any]]:
    """Return by key the latest artifact that the steps of a run kept: ``step_key``, ``value`` and ``schema``."""
    with _opened(store, root) as kept:
        return _state(_info(run_id, kept)).artifacts


def _opened(store: Store, root: Root) -> AbstractContextManager[RunStore]:
    return opened(store, root, registry=_registry)


def _registry() -> Registry:
    from gert_core.host import installed

    return installed()


def _info(run_id: str, store: RunStore) -> RunInfo:
    return run_info(find_run(store, run_id))


def _state(info: RunInfo) -> RunState:
    if info.state is None:
        raise RunError(str(info.problem), kind=ErrorKind.TRACE)
    return info.state


__all__ = ["active", "artifacts", "progress", "resume_point", "status", "stream", "stream_progress"]
