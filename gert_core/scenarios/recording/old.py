"""Record a run that ended before: its runbook is the one that its trace names, as it is today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.runs.choices import recorded_choices
from gert_core.runs.meta import META, read_meta
from gert_core.scenarios.find import scenarios_directory
from gert_core.scenarios.recording.record import record
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import RunStore, StoredRun
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry
    from gert_core.scenarios.recording.record import Recording


def runbook_of(stored: StoredRun) -> Path:
    """Return the path of the runbook of a run; raise ``RunError`` when it is not there any more."""
    first = next(read(stored), None)
    if first is None:
        raise RunError(f"run {stored.run_id} never started: its trace is empty", kind=ErrorKind.RUN)
    runbook = recorded_choices(first.data, read_meta(stored), where=stored.where(META)).runbook
    if not runbook.is_file():
        raise RunError(
            f"{runbook}, the runbook of run {stored.run_id}, does not exist any more",
            kind=ErrorKind.RUN,
            hint="restore the runbook, or start a new run",
        )
    return runbook


def record_old(
    store: RunStore,
    run_id: str,
    target: Path | None,
    *,
    registry: Registry,
    project: Project | None,
    environ: Mapping[str, str],
) -> Recording:
    """Record a run of a store in a directory; None: beside the runbook, under the run's id."""
    from gert_core.host import SilentConsole
    from gert_core.scenarios.run import ScenarioRunner

    with store.open(run_id) as stored:
        runbook = runbook_of(stored)
        runner = ScenarioRunner(
            runbook=runbook, registry=registry, console=SilentConsole(), project=project, environ=environ
        )
        return record(stored, target or scenarios_directory(runbook) / stored.run_id, runner)


__all__ = ["record_old", "runbook_of"]
