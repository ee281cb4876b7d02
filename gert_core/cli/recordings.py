"""Record the runs of commands as scenarios; nothing is imported for a run that is not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from gert_core.api import RunStore
    from gert_core.documents.project import Project
    from gert_core.engine.resume.read import RecordedRun
    from gert_core.engine.run import Run
    from gert_core.scenarios.recording.record import Recording
    from gert_core.scenarios.recording.wanted import Wanted

AUTO: Final = "GERT_AUTO_RECORD"
"""The variable that asks for a recording of every real run."""


class Recordings:
    """What a command records of its run: ``given`` is ``--record``, ``environ`` has the variable for all runs."""

    def __init__(self, given: str | None, environ: Mapping[str, str] | None = None) -> None:
        self._given = given
        self._environ = environ or {}
        self._wanted: Wanted | None = None
        self._project: Project | None = None
        self._begun = False
        self._remembered = False

    def start(self, runbook: Path, *, mode: str, project: Project | None) -> Recordings:
        """Refuse a directory that cannot be that of a recording, before anything is run."""
        self._project = project
        if self._given is not None or self._environ.get(AUTO):
            from gert_core.scenarios.recording.wanted import wanted_by

            self._wanted = wanted_by(self._given, runbook, self._environ, mode=mode)
        return self

    @property
    def remembered(self) -> Mapping[str, object]:
        """Return what the run remembers of it, for the process that ends it."""
        return {} if self._wanted is None else self._wanted.to_meta()

    def begin(self, recorded: RecordedRun, project: Project | None) -> None:
        """Take up a run that is resumed; a directory that is given now stands for the one it remembers."""
        self._project, self._remembered = project, "record" in recorded.meta
        if self._given is None or self._begun:
            return
        from gert_core.scenarios.recording.wanted import remember

        self.start(recorded.choices.runbook, mode=recorded.choices.mode, project=project)
        self._begun = True
        if self._wanted is not None:
            remember(recorded.stored, self._wanted)

    def end(self, run: Run) -> Recording | None:
        """Record a run that this process executed, if that is wanted."""
        if self._wanted is None and not self._remembered:
            return None
        from gert_core.scenarios.recording.wanted import record_ended

        return record_ended(run, self._wanted, self._project)

    def of_finished(self, store: RunStore, run_id: str, options: Any) -> Recording | None:
        """Record a run that was over before the command, if that is asked for now."""
        if self._given is None:
            return None
        from gert_core.cli.session import registry_for
        from gert_core.scenarios.recording.old import record_old

        registry = registry_for(self._project, options, warn=False)
        to, project = self._wanted.to if self._wanted is not None else None, self._project
        return record_old(store, run_id, to, registry=registry, project=project, environ=options.environ)


__all__ = ["AUTO", "Recordings"]
