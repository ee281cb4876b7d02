"""Run the scenarios of a runbook: check the runbook once, replay each scenario and check its expectations."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import DocumentError, ErrorKind, GertError, StepStatus
from gert_core.engine.cancel import Stop
from gert_core.engine.check import check
from gert_core.engine.prepare import prepare
from gert_core.engine.progress import Progress
from gert_core.engine.request import Request
from gert_core.engine.state import Layer
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.governance import load_policies
from gert_core.kit.log import fault
from gert_core.plugin.loader import saying
from gert_core.scenarios.expect import Observed, check_expectations, unknown_steps
from gert_core.scenarios.observe import ObservingBackend, Seen, StepSeen
from gert_core.scenarios.possible import impossible_names
from gert_core.scenarios.results import ScenarioResult, ScenarioStatus
from gert_core.scenarios.visits import PENDING, UNANSWERED, Visits
from gert_core.secrets import MINIMUM, collect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gert_core.api import ApprovalRequest, Console
    from gert_core.documents.project import Project
    from gert_core.documents.scenario import ExpectationModel, ScenarioModel
    from gert_core.documents.tree import Runbook
    from gert_core.engine.modes.replay import ReplayBackend
    from gert_core.engine.progress import StepInfo
    from gert_core.engine.run import Run
    from gert_core.governance import Policies
    from gert_core.plugin.registry import Registry
    from gert_core.runs.result import RunResult
    from gert_core.scenarios.find import ScenarioCandidate
    from gert_core.secrets import Masker, Secrets

ACTOR: Final = "gert-test"
"""The actor of a test: the same everywhere, and not a name that a scenario would use for an approver."""

DENIED: Final = str(ErrorKind.GOVERNANCE_DENIED)


@dataclass(kw_only=True)
class ScenarioRunner:
    """One runbook with what its scenarios share: it is read, validated and governed once."""

    runbook: Path
    registry: Registry
    console: Console
    project: Project | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    floor: bool = False
    """Whether the machine floor applies; without it scenarios are the same on every machine."""
    compiled: CompiledRunbook | None = None
    """The runbook when it is checked and compiled already."""

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
    def _prepared(self) -> tuple[CompiledRunbook, Policies, dict[str, str], Secrets] | DocumentError:
        try:
            compiled = self.compiled or CompiledRunbook(check(self._request))
        except DocumentError as error:
            return error
        book = compiled.runbook
        policies = load_policies(registry=self.registry, project=self.project, files=(), runbook=book, floor=self.floor)
        environ = _without_short_secrets(self.environ, collect(book, self.environ, self.project))
        return compiled, policies, environ, collect(book, environ, self.project)

    @property
    def book(self) -> Runbook:
        """Return the runbook; raise ``DocumentError`` when it is invalid."""
        prepared = self._prepared
        if isinstance(prepared, DocumentError):
            raise prepared
        return prepared[0].runbook

    def prepare(self) -> None:
        """Read and check the runbook; raise when a policy is invalid, keep the error of an invalid runbook."""
        _ = self._prepared

    def run(self, candidate: ScenarioCandidate) -> ScenarioResult:
        """Replay one scenario and check its expectations; errors are part of the result."""
        began = time.perf_counter()
        result = self._replay_or_skip(candidate)
        return replace(result, duration=time.perf_counter() - began)

    def _replay_or_skip(self, candidate: ScenarioCandidate) -> ScenarioResult:
        prepared = self._prepared
        scenario = candidate.scenario
        if scenario is None or candidate.problem is not None:
            return _error(candidate.name, candidate.problem or GertError("the scenario cannot be read"))
        if scenario.test is None:
            return skipped(scenario.name, "it has no test.yaml")
        if isinstance(prepared, DocumentError):
            return _error(scenario.name, prepared)
        try:
            with self._replay(scenario.model) as (run, result, recorder):
                return _scenario_result(scenario.name, scenario.test, run, result, recorder)
        except GertError as error:
            return _error(scenario.name, error)
        except Exception as error:  # an error in one test must not stop the others
            mask = prepared[3].masker().mask_text
            fault("scenarios", error, environ=self.environ, mask=mask)
            text = mask(f"internal error: {saying(error)}")
            hint = "this is a bug in gert or in a plugin; set GERT_DEBUG=1 to see where"
            return _error(scenario.name, GertError(text, hint=hint))

    def observe(self, scenario: ScenarioModel, backend: ObservingBackend | None = None) -> Seen:
        """Replay a scenario and return everything that replays are compared by; raise what is wrong with the runbook.

        ``backend`` stands for the one that takes every answer from the scenario.
        """
        backend = backend or ObservingBackend(scenario)
        with self._replay(scenario, backend) as (_, result, recorder):
            assert isinstance(result.variables, Layer)  # noqa: S101 - a run that was executed has variables
            denied = {key: "deny" for key, step in recorder.ended.items() if step.data.get("reason") == DENIED}
            return Seen(
                status=str(result.status),
                outcome=result.outcome,
                statuses={key: step.status for key, step in result.state.steps.items()},
                outputs=result.variables.globals(),
                decisions=backend.decisions | denied,
                visits=recorder.visits,
                steps=recorder.ended,
                missed=tuple(dict.fromkeys(backend.missed)),
                warnings=tuple(recorder.warnings),
                result=result,
            )

    @contextmanager
    def _replay(
        self, scenario: ScenarioModel, backend: ReplayBackend | None = None
    ) -> Iterator[tuple[Run, RunResult, _VisitRecorder]]:
        prepared = self._prepared
        if isinstance(prepared, DocumentError):
            raise prepared
        compiled, policies, environ, secrets = prepared
        recorder, stop = _VisitRecorder(), Stop()
        request = replace(
            self._request,
            actor=scenario.actor or ACTOR,
            scenario=scenario,
            compiled=compiled,
            governed=policies,
            environ=environ,
            secrets=secrets,
            progress=recorder,
            stop=stop,
        )
        with ExitStack() as stack:
            stack.callback(stop.close)
            run = prepare(request, stack)
            if backend is not None:
                run.services = replace(run.services, backend=backend)
            yield run, run.execute(), recorder


def _scenario_result(
    name: str, test: ExpectationModel, run: Run, ran: RunResult, recorder: _VisitRecorder
) -> ScenarioResult:
    mask = run.services.masker
    assert ran.variables is not None  # noqa: S101 - a run that was executed has variables
    seen = Observed(
        status=str(ran.status),
        outcome=ran.outcome,
        visits=recorder.visits,
        variables=ran.variables,
        step_ids=run.facts.runbook.every_id.keys(),
        failure=_failure_text(ran),
    )
    assertions = check_expectations(test, seen)
    failed = any(not found.passed for found in assertions)
    status, error, hint = ScenarioStatus.FAILED if failed else ScenarioStatus.PASSED, None, None
    if not failed and seen.status == "error" and test.expected_status is None:
        # No status was expected, but a run that ended in error is hardly intended.
        status, error = ScenarioStatus.ERROR, f"the run ended in error: {seen.failure}"
        hint = "write `expected_status: error` in test.yaml if that is what should happen"
    book = run.facts.runbook
    warnings = (*recorder.warnings, *unknown_steps(test, book.every_id), *impossible_names(test, book))
    result = ScenarioResult(
        scenario=name,
        status=status,
        assertions=assertions,
        error=error,
        hint=hint,
        path=recorder.visits.path(),
        warnings=warnings,
    )
    return _masked(result, mask) if mask.count else result


def _failure_text(result: RunResult) -> str | None:
    """Return why the run did not complete, None when it did."""
    if result.failures:
        first = result.failures[0]
        return f"{f'step {first.key}: ' if first.key else ''}{first.message}, {first.kind}"
    if result.pending:
        return f"step {result.pending[0]['step_key']} waits for an approval"
    if result.questions:
        return f"step {result.questions[0]['step_key']} waits for an answer"
    return None


def _masked(result: ScenarioResult, mask: Masker) -> ScenarioResult:
    """Return the result with secrets masked, for printing; the comparison used the real values."""
    return replace(
        result,
        assertions=tuple(
            replace(
                found,
                expected=mask.mask(found.expected),
                actual=mask.mask(found.actual),
                message=mask.mask_text(found.message),
            )
            for found in result.assertions
        ),
        error=None if result.error is None else mask.mask_text(result.error),
        warnings=tuple(mask.mask_text(text) for text in result.warnings),
    )


def _error(name: str, problem: GertError) -> ScenarioResult:
    text = problem.message
    if problem.diagnostics:
        first = problem.diagnostics[0]
        text += f"; first: {first.file}:{first.line}:{first.column}: {first.message} [{first.rule}]"
    return ScenarioResult(scenario=name, status=ScenarioStatus.ERROR, error=text, hint=problem.hint)


def skipped(name: str, why: str) -> ScenarioResult:
    """Return the result of a scenario that was not run."""
    return ScenarioResult(scenario=name, status=ScenarioStatus.SKIPPED, error=why)


def timed_out(name: str, seconds: float) -> ScenarioResult:
    """Return the result of a scenario that took too long."""
    return ScenarioResult(
        scenario=name,
        status=ScenarioStatus.ERROR,
        duration=seconds,
        error=f"the scenario took longer than {seconds:g}s",
        hint="raise --timeout, or look for an endless loop",
    )


def lost(name: str) -> ScenarioResult:
    """Return the result of a scenario whose process ended unexpectedly."""
    return ScenarioResult(
        scenario=name,
        status=ScenarioStatus.ERROR,
        error="the process that ran the scenario ended without a result",
        hint="run it alone with -j 1 to see why",
    )


def _without_short_secrets(environ: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Return the environment without secrets that are too short to be masked; a replay does not need them."""
    short = {name for name, value in secrets.values.items() if value is not None and len(value) < MINIMUM}
    return {name: value for name, value in environ.items() if name not in short}


class _VisitRecorder(Progress):
    """The steps that a run visits, and its warnings."""

    def __init__(self) -> None:
        self.visits = Visits()
        self.ended: dict[str, StepSeen] = {}
        self.warnings: list[str] = []

    def _note(self, step: StepInfo, status: str | None = None) -> None:
        self.visits.note(step.key, step.step_id, loop=step.loop, item=step.item, status=status)

    def started(self, step: StepInfo) -> None:
        self._note(step)

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, object], duration: float) -> None:
        self._note(step, str(status))
        self.ended[step.key] = StepSeen(str(status), data)

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        self._note(step)

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._note(step, PENDING)

    def unanswered(self, step: StepInfo) -> None:
        self._note(step, UNANSWERED)

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        self.warnings.append(message)


__all__ = ["ACTOR", "ScenarioRunner", "lost", "skipped", "timed_out"]
