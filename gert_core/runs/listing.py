"""List the runs of a store, whatever state they are in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.api.results import RunStatus
from gert_core.kit.run_rows import MOVED
from gert_core.runs.cache import load_state, read_state
from gert_core.runs.lifecycle.words import INTERRUPTED
from gert_core.runs.meta import read_meta
from gert_core.runs.moved import Moved, moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api.stores import RunStore, StoredRun
    from gert_core.runs.state import RunState, StepState

SUSPENDED: Final = (RunStatus.APPROVAL_PENDING, RunStatus.ANSWER_PENDING, RunStatus.BLOCKED, RunStatus.QUEUED)
"""The statuses of runs that are suspended: they wait for people, or to be resumed."""


_NEVER: Final = "the run never started: its trace has no event"
OPEN: Final = "open"
"""The status of a step that is not over and that nothing executes."""


class RunInfo(Struct, frozen=True, kw_only=True):
    """A run as people look at it: the fold of its trace, and whether a process is executing it.

    ``state`` is ``None`` when it cannot be read, ``problem`` is then the reason; it is also set for a run that never
    started. The trace alone does not show whether
    a step is being executed or its process was killed.
    """

    run: StoredRun
    state: RunState | None = None
    place: str | None = None
    """Where its trace is: a path, or the run and the store's address; ``None`` when it cannot be found."""
    live: bool = False
    """Whether a process is executing it now."""
    problem: str | None = None
    moved: Moved | None = None
    """Where it was moved to; ``None`` for a run of this store."""

    @property
    def run_id(self) -> str:
        """Return the run's id."""
        return self.run.run_id

    @property
    def trace(self) -> Path | None:
        """The path of its trace, where that is a file."""
        return None if self.place is None or self.run.path is None else Path(self.place)

    @property
    def status(self) -> str:
        """The run's status; a run that has not ended and is not being executed is ``interrupted``."""
        if self.state is None:
            return "unreadable"
        if self.moved is not None and self.moved.done:
            return MOVED
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
        return OPEN if self.status in SUSPENDED else INTERRUPTED  # nothing of a suspended run is running

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
        return None if self.state is None or self.live or self.moved is not None else self.state.resume_point


def run_info(run: StoredRun, *, cached: bool = False) -> RunInfo:
    """Return what is known about a run, whatever state it is in, by its trace; lists take what is ``cached`` of it."""
    live, place = False, None
    try:
        live = run.holder() is not None
        place = run.place
        elsewhere = moved(read_meta(run))
        state = load_state(run) if cached else read_state(run)
    except RunError as error:
        return RunInfo(run=run, place=place, live=live, problem=error.message)
    if not live and state.status == RunStatus.RUNNING:  # it may have been started since
        live = run.holder() is not None
    problem = None if live or state.began else _NEVER
    return RunInfo(run=run, state=state, place=place, live=live, problem=problem, moved=elsewhere)


def list_runs(store: RunStore) -> Iterator[RunInfo]:
    """Yield the runs of a store, newest first, each folded when it is yielded."""
    for run_id in store.run_ids():
        try:
            run = store.open(run_id)
        except StoreError as error:
            if error.kind == ErrorKind.RUN_NOT_FOUND:  # it was deleted meanwhile
                continue
            raise
        with run:
            yield run_info(run, cached=True)


__all__ = ["RunInfo", "list_runs", "run_info"]
