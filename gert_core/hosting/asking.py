"""Ask where the runs of a store stand, by their ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.progress import progress_of
from gert_core.runs.lifecycle.status import resume_point_of, standing_of
from gert_core.runs.lifecycle.stream import each_progress, follow_events
from gert_core.runs.listing import list_runs, run_info
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api.events import TraceEvent
    from gert_core.runs.lifecycle.progress import RunProgress
    from gert_core.runs.lifecycle.status import ResumePoint, Standing
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState


def status(run_id: str, *, root: str | Path) -> Standing:
    """Return where a run below the runs directory ``root`` stands, or that it is ``unreadable``."""
    return standing_of(_info(run_id, root))


def progress(run_id: str, *, root: str | Path) -> RunProgress:
    """Return how far a run is."""
    return progress_of(_state(_info(run_id, root)))


def stream(
    run_id: str, *, root: str | Path, since_seq: int = 0, follow: bool = False, through_suspend: bool = False
) -> Iterator[TraceEvent]:
    """Yield the events of a run after ``since_seq``; with ``follow`` those to come too, until it ends.

    It ends at ``run_complete``, at ``run_suspended`` unless ``through_suspend``, and when no process has executed the
    run for two seconds.
    """
    run = find_run(DirectoryStore(Path(root)), run_id)
    return follow_events(run, since_seq=since_seq, follow=follow, through_suspend=through_suspend)


def stream_progress(
    run_id: str, *, root: str | Path, follow: bool = False, through_suspend: bool = False
) -> Iterator[RunProgress]:
    """Yield how far a run was after each of its events, and with ``follow`` is; no value twice in a row."""
    return each_progress(stream(run_id, root=root, follow=follow, through_suspend=through_suspend))


def active(*, root: str | Path) -> list[Standing]:
    """Return the runs that are executed, queued or interrupted, the newest first."""
    found = (standing_of(info) for info in list_runs(DirectoryStore(Path(root))))
    return [standing for standing in found if standing.lifecycle == "active"]


def resume_point(run_id: str, *, root: str | Path) -> ResumePoint:
    """Return where a run would go on, and what it needs before it does."""
    info = _info(run_id, root)
    return resume_point_of(_state(info), live=info.live)


def artifacts(run_id: str, *, root: str | Path) -> dict[str, dict[str, Any]]:
    """Return by key the latest artifact that the steps of a run kept: ``step_key``, ``value`` and ``schema``."""
    return _state(_info(run_id, root)).artifacts


def _info(run_id: str, root: str | Path) -> RunInfo:
    return run_info(find_run(DirectoryStore(Path(root)), run_id))


def _state(info: RunInfo) -> RunState:
    if info.state is None:
        raise RunError(str(info.problem), kind=ErrorKind.TRACE)
    return info.state


__all__ = ["active", "artifacts", "progress", "resume_point", "status", "stream", "stream_progress"]
