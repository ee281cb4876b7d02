"""Lists the runs kept below a directory, whatever state their files are in."""

from __future__ import annotations

import os
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.api.results import RunStatus
from gert_core.kit.run_rows import matches
from gert_core.runs.directory import RunDirectory, is_run_id
from gert_core.runs.index import Index, stamp_of
from gert_core.runs.lifecycle.words import INTERRUPTED
from gert_core.runs.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.store_records import RunQuery, RunRow
    from gert_core.runs.state import RunState, StepState

SUSPENDED: Final = (RunStatus.APPROVAL_PENDING, RunStatus.ANSWER_PENDING, RunStatus.BLOCKED, RunStatus.QUEUED)
"""The statuses of runs that are suspended: they wait for people, or to be resumed."""


class RunInfo(Struct, frozen=True, kw_only=True):
    """A run as people look at it: the fold of its trace, and whether a process is executing it.

    ``state`` is ``None`` when it cannot be read, ``problem`` is then the reason. The trace alone does not show whether
    a step is being executed or its process was killed.
    """

    directory: RunDirectory
    state: RunState | None = None
    trace: Path | None = None
    """Its trace; ``None`` when ``problem`` is that it cannot be found."""
    live: bool = False
    """Whether a process is executing it now."""
    problem: str | None = None

    @property
    def status(self) -> str:
        """The run's status; a run that has not ended and is not being executed is ``interrupted``."""
        if self.state is None:
            return "unreadable"
        return INTERRUPTED if self.state.status == RunStatus.RUNNING and not self.live else self.state.status

    def step_status(self, step: StepState) -> str:
        """Return a step's status; one that started, did not finish and is not being executed is ``interrupted``."""
        if step.status != RunStatus.RUNNING or self.live:
            return step.status
        asked = self.state.questions.get(step.key) if self.state is not None else None
        if asked is not None and asked.open and self.status in SUSPENDED:
            return str(RunStatus.ANSWER_PENDING)
        if self.status in SUSPENDED and step.key in self._held:
            return str(RunStatus.BLOCKED)
        return step.status if self.status in SUSPENDED else INTERRUPTED

    @property
    def _held(self) -> set[str | None]:
        """The keys of the steps that wait to be unblocked."""
        return {hold.step_key for hold in self.state.holds} if self.state is not None else set()

    @property
    def progress(self) -> dict[str, object]:
        """How much is done; of the steps that started and did not finish, which are running or interrupted."""
        found = self.state.progress if self.state is not None else {}
        keys = found.get("running", [])
        if self.state is not None and self.status in SUSPENDED and isinstance(keys, list):
            waiting = {*self.state.questions, *self.state.released, *self._held}
            keys = [key for key in keys if key not in waiting]
        return {**found, "running": keys if self.live else [], INTERRUPTED: [] if self.live else keys}

    @property
    def unknown_outcomes(self) -> list[str]:
        """The keys of the steps whose effect a person has to find out; none while a process executes the run."""
        if self.state is None or self.live:
            return []
        return [record.key for record in self.state.unknown_outcomes]

    @property
    def resume_point(self) -> dict[str, Any] | None:
        """Where ``gert resume`` would go on; ``None`` while a process executes the run or when nothing is left."""
        return None if self.state is None or self.live else self.state.resume_point


def run_info(directory: RunDirectory) -> RunInfo:
    """Return what is known about a run, whatever state its files are in."""
    live, trace = False, None
    try:
        live = directory.locked()
        trace = directory.find_trace(directory.meta())
        state = directory.state(trace)
    except RunError as error:
        return RunInfo(directory=directory, trace=trace, live=live, problem=error.message)
    if not live and state.status == RunStatus.RUNNING:  # it may have been started since
        live = directory.locked()
    return RunInfo(directory=directory, state=state, trace=trace, live=live)


def list_runs(root: Path) -> Iterator[RunInfo]:
    """Yield the runs kept under ``root``, newest first, each folded when it is yielded."""
    for directory in run_directories(root):
        yield run_info(directory)


def list_rows(root: Path, query: RunQuery) -> Iterator[RunRow]:
    """Yield the rows of the runs under ``root`` that are asked for, newest first; runs that ended by their index."""
    index, place, left = Index(root), os.fspath(root), query.limit
    complete, skipping = False, query.before is not None
    try:
        for name in newest_first(root):
            if skipping:
                skipping = name != query.before
                continue
            row = _row(index, root, f"{place}/{name}", name)
            if not matches(row, query):
                continue
            yield row
            if left is not None and (left := left - 1) <= 0:
                return
        complete = query.before is None
    finally:
        index.save(complete=complete)


def _row(index: Index, root: Path, path: str, name: str) -> RunRow:
    stamp = stamp_of(path)
    if (known := index.row(name, stamp)) is not None:
        return known
    info = run_info(RunDirectory(root / name))
    row = row_of(info)
    ended = info.state is not None and info.state.over and not info.live and info.trace == root / name / "trace.jsonl"
    if ended and stamp is not None and not stamp.fresh and stamp == stamp_of(path):
        index.add(row, stamp)
    return row


def run_directories(root: Path) -> list[RunDirectory]:
    """Return the directories of the runs kept under ``root``, newest first; raise ``RunError``."""
    return [RunDirectory(root / name) for name in newest_first(root)]


def newest_first(root: Path) -> Iterator[str]:
    """Yield the names of the runs under ``root``: by the second in them, and of one second by their first file."""
    try:
        with os.scandir(root) as found:
            names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise RunError(f"{root} cannot be read: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY) from None
    known = sorted(((name.partition("-")[0], name) for name in names if is_run_id(name)), reverse=True)
    for _, same in groupby(known, key=itemgetter(0)):
        group = [name for _, name in same]
        yield from sorted(group, key=lambda name: (_written(root / name), name), reverse=True) if group[1:] else group


def _written(path: Path) -> int:
    """Return when the first file of a run was written."""
    try:
        return os.lstat(path / "meta.json").st_mtime_ns
    except OSError:
        return 0


__all__ = ["RunInfo", "list_rows", "list_runs", "newest_first", "run_directories", "run_info"]
