"""Lists the runs kept below a directory, whatever state their files are in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.errors import RunError
from gert_core.api.results import RunStatus
from gert_core.runs.directory import RunDirectory, is_run_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.runs.state import RunState


class RunInfo(Struct, frozen=True, kw_only=True):
    """One line of ``gert runs list``; ``state`` is ``None`` when it cannot be read, ``problem`` is then the reason."""

    directory: RunDirectory
    state: RunState | None = None
    live: bool = False
    """Whether a process is executing it now."""
    problem: str | None = None

    @property
    def status(self) -> str:
        """The run's status; a run that has not ended and is not being executed is ``interrupted``."""
        if self.state is None:
            return "unreadable"
        return "interrupted" if self.state.status == RunStatus.RUNNING and not self.live else self.state.status


def run_info(directory: RunDirectory) -> RunInfo:
    """Return what is known about a run, whatever state its files are in."""
    live = directory.locked()
    try:
        state = directory.state()
    except RunError as error:
        return RunInfo(directory=directory, live=live, problem=error.message)
    return RunInfo(directory=directory, state=state, live=live)


def list_runs(root: Path) -> Iterator[RunInfo]:
    """Yield the runs kept under ``root``, newest first, each folded when it is yielded."""
    try:
        names = [entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    known = [(*_age(root / name), name) for name in names if is_run_id(name)]
    for *_, name in sorted(known, reverse=True):
        yield run_info(RunDirectory(root / name))


def _age(path: Path) -> tuple[str, int]:
    """Return the sort key of a run: the second in its name, then when its first file was written."""
    try:
        return path.name.partition("-")[0], os.lstat(path / "meta.json").st_mtime_ns
    except OSError:
        return path.name.partition("-")[0], 0


__all__ = ["RunInfo", "list_runs", "run_info"]
