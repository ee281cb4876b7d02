"""What is wanted of the recording of a run: said on the command line or by a variable, and remembered in the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.errors import GertError, UsageError
from gert_core.runs.meta import META, read_meta
from gert_core.scenarios.find import scenarios_directory
from gert_core.scenarios.recording.place import check_target, target_of
from gert_core.scenarios.recording.record import Recording, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import StoredRun
    from gert_core.documents.project import Project
    from gert_core.engine.run import Run

VARIABLE: Final = "GERT_AUTO_RECORD"
NEW: Final = "new"
_FIELD: Final = "record"


class Wanted(Struct, frozen=True, kw_only=True):
    """A recording that is wanted: in the directory ``to``, else beside the runbook under the id of the run."""

    to: Path | None = None
    new: bool = False
    """Whether only a run is recorded that went a way which no scenario has."""

    def to_meta(self) -> dict[str, object]:
        """Return what ``meta.json`` of the run remembers."""
        return {_FIELD: {"to": None if self.to is None else str(self.to), NEW: self.new}}

    def target(self, run_id: str, runbook: Path) -> Path:
        """Return the directory of the recording of a run."""
        return self.to or scenarios_directory(runbook) / run_id


def wanted_by(
    given: str | None, runbook: Path, environ: Mapping[str, str], *, mode: str, base: Path | None = None
) -> Wanted | None:
    """Return the recording that ``--record`` or else the environment asks for; raise before anything is run."""
    if given is not None:
        if mode != "real":
            raise UsageError(f"a run in mode {mode} is not recorded; nothing was run", hint="leave --record out")
        try:
            return Wanted(to=check_target(target_of(given, runbook, base=base)).absolute())
        except UsageError as error:
            raise UsageError(f"{error.message}; nothing was run", file=error.file, hint=error.hint) from None
    value = environ.get(VARIABLE, "").strip().lower()
    if value in ("", "false", "0", "no"):
        return None
    if value not in ("true", "1", "yes", NEW):
        raise UsageError(f"{VARIABLE} takes true, {NEW} or false, not {environ[VARIABLE]!r}; nothing was run")
    return Wanted(new=value == NEW) if mode == "real" else None


def remembered(stored: StoredRun) -> Wanted | None:
    """Return the recording that a run was started for; None when there is none, or its record cannot be read."""
    try:
        found = read_meta(stored).get(_FIELD)
    except (GertError, OSError):
        return None
    if not isinstance(found, dict):
        return None
    to = found.get("to")
    return Wanted(to=Path(to) if isinstance(to, str) and to else None, new=found.get(NEW) is True)


def remember(stored: StoredRun, wanted: Wanted) -> None:
    """Remember in a run that is held how it is to be recorded when it ends."""
    meta: dict[str, Any] = {**read_meta(stored), **wanted.to_meta()}
    stored.put(META, json.dumps(meta, indent=2, ensure_ascii=False).encode() + b"\n")


def record_ended(run: Run, wanted: Wanted | None, project: Project | None) -> Recording | None:
    """Record a run that this process executed, if it is over and that was wanted now or when it began.

    Nothing is raised, and secrets of the run are masked in what is told.
    """
    try:
        done = _record_ended(run, wanted, project)
    except (GertError, OSError) as error:
        if wanted is None:
            return None
        told = error.message if isinstance(error, GertError) else str(error.strerror or error)
        done = Recording(written=False, path=str(wanted.to or ""), problem=told)
    mask = run.services.masker.mask_text
    return None if done is None else done.masked(mask)


def _record_ended(run: Run, wanted: Wanted | None, project: Project | None) -> Recording | None:
    facts = run.facts
    if facts.store is None or facts.stored is None or facts.mode != "real":
        return None
    state, runbook = run.services.journal.state, Path(facts.choices.runbook_path or "")
    with facts.store.open(facts.run_id) as stored:
        wanted = wanted or (remembered(stored) if facts.resumption is not None else None)
        if wanted is None:
            return None
        target = wanted.target(facts.run_id, runbook)
        if not state.over:
            return Recording(written=False, path=str(target))
        from gert_core.host import SilentConsole
        from gert_core.scenarios.run import ScenarioRunner

        runner = ScenarioRunner(
            runbook=runbook,
            registry=facts.registry,
            console=SilentConsole(),
            project=project,
            environ=facts.environ,
            compiled=facts.compiled,
        )
        return record(stored, target, runner, known=run.services.masker.learned, new=wanted.new)


__all__ = ["VARIABLE", "Wanted", "record_ended", "remember", "remembered", "wanted_by"]
