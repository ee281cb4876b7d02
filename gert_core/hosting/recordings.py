"""Record the runs of a host as scenarios; nothing is imported for a run that is not recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.run import Run
    from gert_core.hosting.site import Site
    from gert_core.scenarios.recording.wanted import Wanted

_AUTO: Final = "GERT_AUTO_RECORD"


class HostRecording:
    """What is recorded of a run: what ``record`` or the environment asks for, or what a resumed run remembers.

    Raise ``UsageError`` when it cannot be made, before the run starts.
    """

    def __init__(self, site: Site, record: str | None = None, runbook: Path | None = None, mode: str = "real") -> None:
        self._site = site
        self._wanted: Wanted | None = None
        if runbook is not None and (record is not None or site.environ.get(_AUTO)):
            from gert_core.scenarios.recording.wanted import wanted_by

            self._wanted = wanted_by(record, runbook, site.environ, mode=mode, base=site.root)

    @property
    def remember(self) -> Mapping[str, object]:
        """Return what the run remembers of it, for the process that ends it."""
        return {} if self._wanted is None else self._wanted.to_meta()

    def end(self, run: Run) -> Mapping[str, object] | None:
        """Record a run that has ended, and return the ``record`` of its result; None when that is not wanted."""
        if self._wanted is None and run.facts.resumption is None:
            return None
        from gert_core.scenarios.recording.wanted import record_ended

        runbook = Path(run.facts.choices.runbook_path or "")
        done = record_ended(run, self._wanted, self._site.project_of(runbook))
        return None if done is None else done.to_json()


__all__ = ["HostRecording"]
