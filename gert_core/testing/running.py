"""Run runbooks in tests: real runs in a temporary directory, with their events for assertions."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from gert_core.host import resume, run
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gert_core.api import Deadline, TraceEvent
    from gert_core.plugin.registry import Registry
    from gert_core.runs.result import RunResult


class ScriptedConsole:
    """A console that answers from a list; ``said`` and ``asked`` are the texts it was given."""

    def __init__(self, answers: Sequence[str] = (), *, interactive: bool = True) -> None:
        self.interactive = interactive
        self.said: list[str] = []
        self.asked: list[str] = []
        self._answers = list(answers)
        self._lock = threading.RLock()

    def say(self, text: str) -> None:
        """Record the text."""
        self.said.append(text)

    def ask(self, prompt: str, *, deadline: Deadline, hidden: bool = False) -> str | None:
        """Return the next answer, or None at the end of input."""
        self.asked.append(prompt)
        return self._answers.pop(0) if self._answers else None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Allow one dialogue at a time."""
        with self._lock:
            yield


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
    """A runner that writes a runbook and its files into a directory and runs it with a registry."""

    directory: Path
    registry: Registry
    environ: dict[str, str] = field(default_factory=dict)

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
        answers: Sequence[str] = (),
        interactive: bool = True,
        **options: Any,
    ) -> Ran:
        """Run a runbook given as text or as a path; further options are those of ``gert_core.run``."""
        self.write(files or {})
        path = runbook if isinstance(runbook, Path) else self.directory / "runbook.yaml"
        if not isinstance(runbook, Path):
            self.write({"runbook.yaml": runbook})
        console = ScriptedConsole(answers, interactive=interactive)
        options.setdefault("environ", self.environ)
        options.setdefault("actor", "tester")
        result = run(
            path,
            inputs=inputs,
            registry=self.registry,
            console=console,
            runs=self.directory / "runs",
            **options,
        )
        return self._ran(result, console)

    def resume(self, run_id: str, *, answers: Sequence[str] = (), **options: Any) -> Ran:
        """Resume an earlier run of this runner."""
        console = ScriptedConsole(answers)
        options.setdefault("environ", self.environ)
        result = resume(run_id, root=self.directory / "runs", registry=self.registry, console=console, **options)
        return self._ran(result, console)

    def _ran(self, result: RunResult, console: ScriptedConsole) -> Ran:
        return Ran(result=result, events=list(read(result.trace)), directory=self.directory, console=console)


__all__ = ["GertRunner", "Ran", "ScriptedConsole"]
