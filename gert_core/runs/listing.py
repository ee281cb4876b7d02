"""Lists the runs kept below a directory, whatever state their files are in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.api.results import RunStatus
from gert_core.runs.directory import RunDirectory, is_run_id
from gert_core.runs.lifecycle.words import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        return step.status if self.status in SUSPENDED else INTERRUPTED

    @property
    def progress(self) -> dict[str, object]:
        """How much is done; of the steps that started and did not finish, which are running or interrupted."""
        found = self.state.progress if self.state is not None else {}
        keys = found.get("running", [])
        if self.state is not None and self.status in SUSPENDED and isinstance(keys, list):
            keys = [key for key in keys if key not in self.state.questions]  # they wait for people
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

    @property
    def blocked_on(self) -> str:
        """One phrase for lists: what the run waits for."""
        return self.state.blocked_on(live=self.live) if self.state is not None else ""


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


def run_directories(root: Path) -> list[RunDirectory]:
    """Return the directories of the runs kept under ``root``, newest first; raise ``RunError``."""
    try:
        with os.scandir(root) as found:
            names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunError(f"{root} cannot be read: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY) from None
    known = [(*_age(root / name), name) for name in names if is_run_id(name)]
    return [RunDirectory(root / name) for *_, name in sorted(known, reverse=True)]


def _age(path: Path) -> tuple[str, int]:
    """Return the sort key of a run: the second in its name, then when its first file was written."""
    try:
        return path.name.partition("-")[0], os.lstat(path / "meta.json").st_mtime_ns
    except OSError:
        return path.name.partition("-")[0], 0


__all__ = ["RunInfo", "list_runs", "run_directories", "run_info"]
