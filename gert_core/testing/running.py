"""Run runbooks in tests: real runs in a temporary directory, with their events for assertions."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from gert_core.documents.project import Project, ProjectModel, find_project
from gert_core.engine.cancel import Stop
from gert_core.host import resume, run
from gert_core.runs.cache import load_state
from gert_core.runs.result import RunResult
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.console import ScriptedConsole
from gert_core.testing.findings import findings_shown
from gert_core.trace.reader import read
from gert_core.validation import validate_runbook

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.api import Diagnostic, Json, TraceEvent
    from gert_core.plugin.registry import Registry
    from gert_core.testing.clock import FakeClock
    from gert_core.testing.console import Answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A finished test run: its result, its events, and assertions with messages."""

    result: RunResult
    events: list[TraceEvent]
    directory: Path
    console: ScriptedConsole

    @property
    def status(self) -> str:
        """The run's status."""
        return str(self.result.status)

    @property
    def steps(self) -> dict[str, str]:
        """Step key to status, in the order the steps finished."""
        return {step.key: step.status for step in self.result.steps}

    @property
    def runs(self) -> Path:
        """The runs directory, for ``resume``."""
        return self.directory / "runs"

    def of(self, type: str, key: str | None = None) -> list[Mapping[str, Any]]:  # noqa: A002 - the event's field name
        """Return the data of every event of a type, of one step key if given."""
        return [e.data for e in self.events if e.type == type and (key is None or e.step_key == key)]

    def assert_outcome(self, category: str, code: str | None = None) -> None:
        """Assert that the run completed with this outcome."""
        outcome = self.result.outcome
        told = f"{self.status}: {[f.message for f in self.result.failures]}"
        assert outcome is not None, f"no outcome, the run is {told}"
        assert (outcome.category, outcome.code) == (category, outcome.code if code is None else code)

    def assert_failed(self, kind: str, *, status: str = "failed") -> None:
        """Assert that the run failed and that its first failure has this kind."""
        kinds = [failure.kind for failure in self.result.failures]
        assert (self.status, kinds[:1]) == (status, [kind]), f"{self.status} {kinds}"


@dataclass(slots=True, kw_only=True)
class GertRunner:
    """A runner that writes a runbook and its files into a directory and runs it with a registry.

    ``config`` are the settings of plugins by plugin or distribution name, as in a project's ``plugins.config``. With a
    ``clock`` the runs go by its time.
    """

    directory: Path
    registry: Registry
    environ: dict[str, str] = field(default_factory=dict)
    config: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    clock: FakeClock | None = None

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the directory; text is dedented."""
        for name, text in files.items():
            target = self.directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(dedent(text), encoding="utf-8")

    def __call__(
        self,
        runbook: str | Path,
        *,
        files: Mapping[str, str] | None = None,
        inputs: Mapping[str, object] | None = None,
        answers: Answers = (),
        interactive: bool = True,
        **options: Any,
    ) -> Ran:
        """Run a runbook given as text or as a path; further options are those of ``gert_core.run``."""
        path = self._write_book(runbook, files)
        options.setdefault("console", ScriptedConsole(answers, interactive=interactive))
        options.setdefault("actor", "tester")
        options.setdefault("runs", self.directory / "runs")
        options.setdefault("keep", True)  # its events are read
        with self._options(options):
            result = run(path, inputs=inputs, **options)
        return self._ran(result, options["console"])

    def resume(self, run_id: str, *, answers: Answers = (), **options: Any) -> Ran:
        """Resume an earlier run of this runner."""
        options.setdefault("console", ScriptedConsole(answers))
        with self._options(options):
            result = resume(run_id, root=self.directory / "runs", **options)
        return self._ran(result, options["console"])

    def read(self, run_id: str) -> Ran:
        """Return an earlier run of this runner as its trace has it, without resuming it."""
        stored = DirectoryStore(self.directory / "runs").open(run_id)
        return self._ran(RunResult(state=load_state(stored), trace=Path(stored.place)), ScriptedConsole())

    def findings(self, runbook: str | Path, *, files: Mapping[str, str] | None = None) -> list[Diagnostic]:
        """Return what validation says about a runbook, with the findings of plugins."""
        path = self._write_book(runbook, files)
        found = validate_runbook(path, registry=self.registry, project=self._project(path))
        return list(found.diagnostics)

    def _write_book(self, runbook: str | Path, files: Mapping[str, str] | None) -> Path:
        self.write(files or {})
        if isinstance(runbook, Path):
            return runbook
        self.write({"runbook.yaml": runbook})
        return self.directory / "runbook.yaml"

    def _project(self, path: Path) -> Project | None:
        found = find_project(path.parent)
        if found is None and self.config:
            settings = {"plugins": {"config": {name: dict(config) for name, config in self.config.items()}}}
            return Project(root=self.directory, model=ProjectModel.model_validate(settings))
        return found

    @contextmanager
    def _options(self, options: dict[str, Any]) -> Iterator[None]:
        """Fill in the options that a run and its resume share; a stop switch made here is closed afterwards."""
        options.setdefault("registry", self.registry)
        options.setdefault("environ", self.environ)
        options.setdefault("project", self._project(self.directory / "runbook.yaml"))
        stop = Stop(self.clock) if self.clock is not None and "stop" not in options else None
        if stop is not None:
            options["stop"] = stop
        try:
            with findings_shown():
                yield
        finally:
            if stop is not None:
                stop.close()

    def _ran(self, result: RunResult, console: ScriptedConsole) -> Ran:
        assert result.trace is not None, "its runs are kept in a directory"
        return Ran(result=result, events=list(read(result.trace)), directory=self.directory, console=console)


__all__ = ["GertRunner", "Ran", "ScriptedConsole"]
