"""Conformance tests of step types; a plugin's tests subclass them and give an example runbook."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from gert_core.api import ErrorKind, Flow, RunError, StepType
from gert_core.documents.scenario import ScenarioModel
from gert_core.engine.resume.plan import RunFinished
from gert_core.kit.models import StepModel
from gert_core.plugin.lazy import resolve
from gert_core.plugin.registry import Registry
from gert_core.testing.cases import PluginConformance
from gert_core.testing.peers import (
    ApprovalProviderConformance,
    InputResolverConformance,
    SignatureSchemeConformance,
    TransportConformance,
)
from gert_core.testing.running import GertRunner
from gert_core.trace.verify import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.testing.running import Ran


class StepTypeConformance:
    """The tests every step type must pass; subclass it and set ``plugin`` and ``runbook`` (a text that uses the type).

    ``files`` are written beside the runbook, ``inputs``, ``answers`` and ``environ`` go to the run, ``scenario`` to
    the replay; ``helpers`` are further plugins the runbook needs. ``status`` is the expected status of a real run.
    """

    plugin: ClassVar[Any]
    runbook: ClassVar[str]
    files: ClassVar[Mapping[str, str]] = {}
    inputs: ClassVar[Mapping[str, Any]] = {}
    answers: ClassVar[tuple[str, ...]] = ()
    environ: ClassVar[Mapping[str, str]] = {}
    scenario: ClassVar[Mapping[str, object]] = {}
    helpers: ClassVar[tuple[object, ...]] = ()
    status: ClassVar[str] = "completed"

    @pytest.fixture
    def runner(self, tmp_path: Path) -> GertRunner:
        """Return a runner with this plugin and its helpers, without installed plugins."""
        needed = [self.plugin, *self.helpers]
        registry = Registry.build(scan=(), extra_plugins=needed)
        if all(t.flow is not Flow.TERMINAL for t in registry.step_types().values()):
            from gert_core.testing import finish

            registry = Registry.build(scan=(), extra_plugins=[*needed, finish])
        return GertRunner(directory=tmp_path, registry=registry, environ=dict(self.environ))

    def types(self) -> list[StepType]:
        """Return the step types the plugin registers."""
        return list(self.plugin.gert_step_types())

    def _real(self, runner: GertRunner) -> Ran:
        return runner(self.runbook, files=self.files, inputs=self.inputs, answers=self.answers)

    # -- the tests -----------------------------------------------------------------------------------------------

    def test_the_records_are_complete(self) -> None:
        for step_type in self.types():
            assert step_type.name.isidentifier(), step_type.name
            assert step_type.summary, "say in one line what the type does"
            assert issubclass(resolve(step_type.model), StepModel)
            assert callable(resolve(step_type.run))
            has_blocks = step_type.flow in (Flow.ONE_OF, Flow.ALL_OF, Flow.IN_ORDER)
            assert has_blocks == (step_type.blocks is not None), "flow and blocks must agree"

    def test_every_field_is_described(self) -> None:
        for step_type in self.types():
            for name, field in resolve(step_type.model).model_fields.items():
                assert field.description, f"{step_type.name}.{name} has no description"

    def test_the_entry_module_imports_nothing_heavy(self) -> None:
        code = (
            f"import sys, {self.plugin.__name__}; "
            "print([m for m in ('pydantic','jinja2','typer','jsonschema','yaml','asyncio') if m in sys.modules])"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert said.stdout.strip() == "[]"

    def test_a_real_run_comes_out_as_promised(self, runner: GertRunner) -> None:
        ran = self._real(runner)
        assert ran.status == self.status, [f.message for f in ran.result.failures]
        verification = verify(ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verification.status) == "unsigned"

    def test_a_dry_run_touches_nothing(self, runner: GertRunner, monkeypatch: pytest.MonkeyPatch) -> None:
        forbid_outside_effects(monkeypatch)
        ran = runner(self.runbook, files=self.files, inputs=self.inputs, mode="dry-run")
        assert ran.status == "completed", [f.message for f in ran.result.failures]

    def test_a_replay_touches_nothing_and_comes_out_the_same(
        self, runner: GertRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forbid_outside_effects(monkeypatch)
        scenario = ScenarioModel.model_validate({"inputs": dict(self.inputs), **self.scenario})
        ran = runner(self.runbook, files=self.files, mode="replay", scenario=scenario)
        assert ran.status == self.status, [f.message for f in ran.result.failures]

    def test_a_crash_after_any_event_changes_nothing(self, runner: GertRunner) -> None:
        whole = self._real(runner)
        run_id, trace = whole.result.run_id, whole.result.trace
        lines = trace.read_bytes().splitlines(keepends=True)
        home = trace.parent
        kept = home.with_name(f"{home.name}.whole")
        shutil.copytree(home, kept)
        for count in range(1, len(lines)):
            shutil.rmtree(home)
            shutil.copytree(kept, home)
            (home / "state.json").unlink(missing_ok=True)
            trace.write_bytes(b"".join(lines[:count]))
            again = self._resume(runner, run_id)
            told = f"crash after event {count}"
            assert (again.status, again.result.outcome) == (whole.status, whole.result.outcome), told
            assert again.steps == whole.steps, told
            verification = verify(trace, key_for=lambda *_: None, schemes=lambda _: None)
            assert str(verification.status) == "unsigned", told

    def _resume(self, runner: GertRunner, run_id: str) -> Ran:
        answers = [*self.answers] * 2
        try:
            return runner.resume(run_id, answers=answers)
        except RunError as error:
            if error.kind != ErrorKind.UNKNOWN_OUTCOME:
                raise
            keys = error.message.removeprefix("cannot determine whether ").partition(" took effect")[0].split(", ")
            return runner.resume(run_id, answers=answers, reconcile=dict.fromkeys(keys, "redo"))
        except RunFinished as finished:
            pytest.fail(f"a run cut short counts as finished: {finished.result.status}")


def forbid_outside_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every socket and every child process an error, to catch steps that bypass their context."""

    def refuse(*_: object, **__: object) -> object:
        raise AssertionError("the step bypassed its context: sockets and processes are not allowed in this mode")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    for name in ("posix_spawn", "posix_spawnp", "fork", "system", "execv", "execve"):
        monkeypatch.setattr(f"os.{name}", refuse, raising=False)


__all__ = [
    "ApprovalProviderConformance",
    "InputResolverConformance",
    "PluginConformance",
    "SignatureSchemeConformance",
    "StepTypeConformance",
    "TransportConformance",
    "forbid_outside_effects",
]
