"""Past runs for summaries: a row for each run of a store and for each trace that is kept elsewhere, and their steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.errors import RunError
from gert_core.api.store_records import RunQuery, RunRow
from gert_core.kit.files import UnreadableError, read_file
from gert_core.kit.run_rows import MOVED, UNREADABLE, matcher
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.stores import RunStore
    from gert_core.runs.state import RunState

_SUFFIX: Final = ".jsonl"
_IN_A_LOOP: Final = re.compile(r"\[[^\]]*\]|#\d+")
_NUMBERS: Final = re.compile(r"/\d+(?=/)")


class PastStep(Struct, frozen=True, kw_only=True):
    """One execution of a step that did the work itself; what was skipped is none."""

    name: str
    """The ids of the steps around it and its own, whichever turn of a loop it was in."""
    type: str
    failed: bool
    duration: str | None = None
    waited: str | None = None


class PastRuns:
    """The runs of a store; where that is a directory, also the traces in another one whose runs it has not.

    ``traces`` is that other directory. A run counts once, whichever of them has it.
    """

    def __init__(self, store: RunStore, *, traces: Path | None = None) -> None:
        self._store = store
        self._traces = traces if isinstance(store, DirectoryStore) else None
        self._files: dict[str, Path] = {}

    @property
    def place(self) -> str:
        """Where the runs are, for messages."""
        return self._store.place

    def rows(self, query: RunQuery) -> Iterator[RunRow]:
        """Yield the rows that are asked for, and those that cannot be read and might be; runs that moved are none."""
        seen: set[str] = set()
        asked, files = matcher(query), _files(self._traces)
        for row in self._kept(query):
            if files:
                seen.add(row.run_id)
            if row.status != MOVED and (row.problem is not None or asked(row)):
                yield row
        for path in files:
            row = self._of_file(path)
            if row.run_id not in seen:
                seen.add(row.run_id)
                self._files[row.run_id] = path
                if row.problem is not None or asked(row):  # a file is not moved
                    yield row

    def steps(self, run_id: str) -> list[PastStep]:
        """Return the steps that a run executed, those included that were executed again later."""
        state = self._state(run_id)
        return [
            PastStep(
                name=_NUMBERS.sub("", _IN_A_LOOP.sub("", step.key)),
                type=step.type,
                failed=step.failed and not step.quiet,
                duration=step.duration,
                waited=step.waited,
            )
            for step in (*state.void.values(), *state.steps.values())
            if step.done and not step.container and step.status != "skipped"
        ]

    def _kept(self, query: RunQuery) -> Iterator[RunRow]:
        # Of a directory every run is looked at anyway, and what cannot be read has none of what is asked for.
        return self._store.runs(RunQuery() if isinstance(self._store, DirectoryStore) else query)

    def _state(self, run_id: str) -> RunState:
        if run_id in self._files:
            return _folded(self._files[run_id])
        from gert_core.runs.cache import load_state

        with self._store.open(run_id) as stored:
            return load_state(stored)

    def _of_file(self, path: Path) -> RunRow:
        from gert_core.stores.quick_rows import LIMIT, row_of_trace

        try:
            data = read_file(path, limit=LIMIT)
            found = row_of_trace(data) if data is not None else None
        except UnreadableError:
            found = None
        if found is not None:
            return found
        from gert_core.runs.listing import RunInfo
        from gert_core.runs.rows import row_of
        from gert_core.stores.directory import DirectoryRun

        try:
            state = _folded(path)
        except RunError as error:
            return RunRow(run_id=str(path), status=UNREADABLE, problem=error.message)
        return row_of(RunInfo(run=DirectoryRun(path.parent / state.run_id), state=state))


def _folded(path: Path) -> RunState:
    from gert_core.runs.fold import fold
    from gert_core.trace.reader import read

    state = fold(read(path))
    if not state.run_id:
        raise UnreadableError(path, "has no event")
    return state


def _files(directory: Path | None) -> list[Path]:
    """Return the traces in a directory; none when it cannot be listed, because a project need not have one."""
    if directory is None:
        return []
    try:
        return sorted(path for path in directory.iterdir() if path.suffix == _SUFFIX and not path.name.startswith("."))
    except OSError:
        return []


__all__ = ["PastRuns", "PastStep"]
