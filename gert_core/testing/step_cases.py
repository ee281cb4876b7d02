"""The part that the conformance tests of step types share: the example runbook, its runs and their comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from gert_core.api import ErrorKind, Flow, RunError
from gert_core.engine.resume.plan import RunFinished
from gert_core.plugin.kinds import STEP
from gert_core.plugin.registry import Registry
from gert_core.testing import finish, helpers
from gert_core.testing.books import Example
from gert_core.testing.cases import PluginConformance, records
from gert_core.testing.running import GertRunner
from gert_core.trace.verify import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import StepType
    from gert_core.testing.running import Ran


class StepTypeCase(PluginConformance):
    """The example of a step type: ``plugin``, and ``runbook``, a text that uses the type.

    ``files`` are written beside the runbook; ``inputs``, ``answers``, ``environ`` and ``config`` go to the run and
    ``scenario`` to the replay; ``helpers`` are further plugins the runbook needs. ``status`` is that of a real run.
    ``slow`` is a runbook whose step of the type takes over 10 seconds unless it is stopped, for a type that can wait.
    """

    runbook: ClassVar[str]
    slow: ClassVar[str] = ""
    files: ClassVar[Mapping[str, str]] = {}
    inputs: ClassVar[Mapping[str, Any]] = {}
    scenario: ClassVar[Mapping[str, object]] = {}
    helpers: ClassVar[tuple[object, ...]] = ()
    status: ClassVar[str] = "completed"

    @pytest.fixture
    def runner(self, tmp_path: Path) -> GertRunner:
        """Return a runner with this plugin and its helpers, without installed plugins."""
        registry = Registry.build(scan=(), extra_plugins=[self.plugin, *self.helpers])
        if all(found.flow is not Flow.TERMINAL for found in registry.step_types().values()):
            registry = registry.with_plugins(finish)
        (owner,) = registry.providers(STEP, self.types()[0].name)
        settings = {owner.distribution: self.config} if self.config else {}
        return GertRunner(directory=tmp_path, registry=registry, environ=dict(self.environ), config=settings)

    def types(self) -> list[StepType]:
        """Return the step types the plugin registers."""
        return records(self.plugin, STEP)

    def example(self, text: str = "") -> Example:
        """Return the runbook, or another one, as an example to derive others from."""
        return Example(text or self.runbook, {found.name for found in self.types()})

    # -- runs ----------------------------------------------------------------------------------------------------

    def _real(self, runner: GertRunner, book: str = "", **options: Any) -> Ran:
        options.setdefault("answers", self.answers)
        return runner(book or self.runbook, files=self.files, inputs=self.inputs, **options)

    def _resume(self, runner: GertRunner, run_id: str) -> Ran:
        """Resume a run that did not come to its end; steps whose effect is unknown are done again."""
        answers = self.answers if not isinstance(self.answers, tuple) else self.answers * 2
        unknown = runner.read(run_id).result.state.unknown_outcomes
        redo = {record.key: "redo" for record in unknown}
        try:
            return runner.resume(run_id, answers=answers, reconcile=redo)
        except RunError as error:
            told = " (after `redo`)" if redo else ""
            if error.kind == ErrorKind.UNKNOWN_OUTCOME:
                pytest.fail(f"the effect of a step is still unknown{told}: {error.message}")
            raise
        except RunFinished as finished:
            pytest.fail(f"a run cut short counts as finished: {finished.result.status}")

    def with_helpers(self, runner: GertRunner) -> GertRunner:
        """Return the runner with the step types that derived runbooks need."""
        needed = [helpers] if "finish" in runner.registry.step_types() else [helpers, finish]
        return replace(runner, registry=runner.registry.with_plugins(*needed))


def assert_intact(trace: Path | None, told: str = "") -> None:
    """Assert that the chain of a trace is whole."""
    assert trace is not None, "the run is kept in a directory"
    verification = verify(trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(verification.status) == "unsigned", told


def assert_same(again: Ran, whole: Ran, told: str) -> None:
    """Assert that a run came out as another one, with its trace intact."""
    assert (again.status, again.result.outcome) == (whole.status, whole.result.outcome), told
    assert again.steps == whole.steps, told
    assert_intact(again.result.trace, told)


__all__ = ["StepTypeCase", "assert_intact", "assert_same"]
