"""Puts scenarios of a runbook to the test: replays each one on the runbook checked once, and judges it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import DocumentError, GertError, StepStatus
from gert_core.engine.cancel import Stop
from gert_core.engine.prepare import Request, check, start
from gert_core.engine.progress import Progress
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.governance import load_policies
from gert_core.kit.log import fault
from gert_core.scenarios.expect import Observed, judge, unknown_steps
from gert_core.scenarios.results import ScenarioResult, ScenarioStatus
from gert_core.scenarios.visits import PENDING, Visits
from gert_core.secrets import MINIMUM, collect

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import ApprovalRequest, Console
    from gert_core.documents.project import Project
    from gert_core.documents.scenario import ExpectationModel, Scenario
    from gert_core.engine.progress import StepInfo
    from gert_core.engine.run import Run
    from gert_core.governance import Policies
    from gert_core.plugin.registry import Registry
    from gert_core.runs.result import RunResult
    from gert_core.scenarios.find import Candidate
    from gert_core.secrets import Masker, Secrets

ACTOR: Final = "gert-test"
"""Who runs a test: the same everywhere, and nobody whom a scenario would name as an approver by accident."""


@dataclass(kw_only=True)
class ScenarioRunner:
    """One runbook and all that its scenarios share: it is read, validated and governed once."""

    runbook: Path
    registry: Registry
    console: Console
    project: Project | None = None
    environ: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _request(self) -> Request:
        return Request(
            runbook=self.runbook,
            registry=self.registry,
            console=self.console,
            project=self.project,
            mode="replay",
            actor=ACTOR,
            environ=self.environ,
            keep=False,
        )

    @cached_property
    def _ready(self) -> tuple[CompiledRunbook, Policies, dict[str, str]] | DocumentError:
        try:
            book = check(self._request)
        except DocumentError as error:
            return error
        policies = load_policies(registry=self.registry, project=self.project, files=(), runbook=book)
        return CompiledRunbook(book), policies, _harmless(self.environ, collect(book, self.environ))

    def prepare(self) -> None:
        """Read and check the runbook; policies that are broken stop everything, a wrong runbook its scenarios."""
        _ = self._ready

    def run(self, candidate: Candidate) -> ScenarioResult:
        """Replay one scenario and judge it; whatever is wrong with it is in the verdict."""
        began = time.perf_counter()
        verdict = self._verdict(candidate)
        return replace(verdict, duration=time.perf_counter() - began)

    def _verdict(self, candidate: Candidate) -> ScenarioResult:
        ready = self._ready
        scenario = candidate.scenario
        if scenario is None or candidate.problem is not None:
            return _error(candidate.name, candidate.problem or GertError("the scenario cannot be read"))
        if scenario.test is None:
            return skipped(scenario.name, "it has no test.yaml, so nothing is expected of it")
        if isinstance(ready, DocumentError):
            return _error(scenario.name, ready)
        try:
            return self._replay(scenario, scenario.test, *ready)
        except GertError as error:
            return _error(scenario.name, error)
        except Exception as error:  # a fault in one test must not take the others with it
            mask = collect(ready[0].runbook, ready[2]).masker().mask_text
            fault("scenarios", error, environ=self.environ, mask=mask)
            text = mask(f"internal error: {type(error).__name__}: {error}")
            hint = "this is a bug in gert or in a plugin; set GERT_DEBUG=1 to see where"
            return _error(scenario.name, GertError(text, hint=hint))

    def _replay(
        self,
        scenario: Scenario,
        test: ExpectationModel,
        compiled: CompiledRunbook,
        policies: Policies,
        environ: dict[str, str],
    ) -> ScenarioResult:
        watch, stop = _Watch(), Stop()
        request = replace(
            self._request,
            scenario=scenario.model,
            compiled=compiled,
            governed=policies,
            environ=environ,
            progress=watch,
            stop=stop,
        )
        with ExitStack() as stack:
            stack.callback(stop.close)
            run = start(request, stack)
            result = run.execute()
        return _judged(scenario.name, test, run, result, watch)


def _judged(name: str, test: ExpectationModel, run: Run, result: RunResult, watch: _Watch) -> ScenarioResult:
    mask = run.services.masker
    assert result.variables is not None  # noqa: S101 - a run that was executed has variables
    seen = Observed(
        status=str(result.status),
        outcome=result.outcome,
        visits=watch.visits,
        variables=result.variables,
        step_ids=run.facts.runbook.by_id.keys(),
        trouble=_trouble(result),
    )
    assertions = judge(test, seen)
    failed = any(not found.passed for found in assertions)
    status, error, hint = ScenarioStatus.FAILED if failed else ScenarioStatus.PASSED, None, None
    if not failed and seen.status == "error" and test.expected_status is None:
        # Nothing was expected of the status, but nobody means a run that broke in the middle.
        status, error = ScenarioStatus.ERROR, f"the run ended in error: {seen.trouble}"
        hint = "write `expected_status: error` in test.yaml if that is what should happen"
    warnings = (*watch.warnings, *unknown_steps(test, seen.step_ids))
    verdict = ScenarioResult(
        scenario=name,
        status=status,
        assertions=assertions,
        error=error,
        hint=hint,
        path=watch.visits.path(),
        warnings=warnings,
    )
    return _masked(verdict, mask) if mask.count else verdict


def _trouble(result: RunResult) -> str | None:
    """Why the run did not complete, in one sentence."""
    if result.failures:
        first = result.failures[0]
        return f"{f'step {first.key}: ' if first.key else ''}{first.message}, {first.kind}"
    if result.pending:
        return f"step {result.pending[0]['step_key']} waits for an approval"
    return None


def _masked(verdict: ScenarioResult, mask: Masker) -> ScenarioResult:
    """The verdict as it may be printed; what was compared were the values themselves."""
    return replace(
        verdict,
        assertions=tuple(
            replace(
                found,
                expected=mask.mask(found.expected),
                actual=mask.mask(found.actual),
                message=mask.mask_text(found.message),
            )
            for found in verdict.assertions
        ),
        error=None if verdict.error is None else mask.mask_text(verdict.error),
        warnings=tuple(mask.mask_text(text) for text in verdict.warnings),
    )


def _error(name: str, problem: GertError) -> ScenarioResult:
    text = problem.message
    if problem.diagnostics:
        first = problem.diagnostics[0]
        text += f"; first: {first.file}:{first.line}:{first.column}: {first.message} [{first.rule}]"
    return ScenarioResult(scenario=name, status=ScenarioStatus.ERROR, error=text, hint=problem.hint)


def skipped(name: str, why: str) -> ScenarioResult:
    """A scenario that was not run, and why."""
    return ScenarioResult(scenario=name, status=ScenarioStatus.SKIPPED, error=why)


def timed_out(name: str, seconds: float) -> ScenarioResult:
    """A scenario that took too long."""
    return ScenarioResult(
        scenario=name,
        status=ScenarioStatus.ERROR,
        duration=seconds,
        error=f"the scenario took longer than {seconds:g}s",
        hint="give it more with --timeout, or look for a loop without end",
    )


def lost(name: str) -> ScenarioResult:
    """A scenario whose process died."""
    return ScenarioResult(
        scenario=name,
        status=ScenarioStatus.ERROR,
        error="the process that ran the scenario ended without a result",
        hint="run it alone with -j 1 to see why",
    )


def _harmless(environ: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """The environment without secrets too short to be masked: a replay needs no secret, so none can be wrong."""
    short = {name for name, value in secrets.values.items() if value is not None and len(value) < MINIMUM}
    return {name: value for name, value in environ.items() if name not in short}


class _Watch(Progress):
    """Writes down where the run went."""

    def __init__(self) -> None:
        self.visits = Visits()
        self.warnings: list[str] = []

    def _note(self, step: StepInfo, status: str | None = None) -> None:
        self.visits.note(step.key, step.step_id, loop=step.loop, item=step.item, status=status)

    def started(self, step: StepInfo) -> None:
        self._note(step)

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, object], duration: float) -> None:
        self._note(step, str(status))

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        self._note(step)

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._note(step, PENDING)

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        self.warnings.append(message)


__all__ = ["ACTOR", "ScenarioRunner", "lost", "skipped", "timed_out"]
