"""Replay scenarios and tell what changed since they were recorded, or since a revision."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from gert_core.api import DocumentError, GertError, UsageError
from gert_core.scenarios.diffing.before import of_replay, of_scenario
from gert_core.scenarios.diffing.compare import Diffed, Difference, DiffReport, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gert_core.scenarios.diffing.before import Side
    from gert_core.scenarios.find import ScenarioCandidate
    from gert_core.scenarios.plan import Job, Plan
    from gert_core.scenarios.run import ScenarioRunner

    Runner = Callable[[Path], ScenarioRunner]


def differences(plan: Plan, *, earlier: Runner | None = None) -> Iterator[tuple[DiffReport, Difference]]:
    """Yield the difference of every scenario of a plan, each with its report.

    ``earlier`` makes the runner of a runbook as it was at a revision; None compares with recordings and tests.
    """
    reports: dict[str, DiffReport] = {}
    runners: dict[str, ScenarioRunner | GertError] = {}
    for job in plan.jobs:
        path = job.report.runbook
        if path not in reports:
            reports[path] = DiffReport(runbook=path, name=_name(job), left_out=plan.archived.get(path, 0))
            if earlier is not None:
                runners[path] = _runner(earlier, job)
        found = _difference(job, runners.get(path))
        reports[path].differences.append(found)
        yield reports[path], found


def all_differences(plan: Plan, *, earlier: Runner | None, warnings: Sequence[str]) -> Diffed:
    """Return the differences of all scenarios of a plan."""
    reports = {report.runbook: report for report, _ in differences(plan, earlier=earlier)}
    return Diffed(runbooks=tuple(reports.values()), warnings=tuple(warnings))


def _name(job: Job) -> str:
    try:
        return job.runner.book.name
    except GertError:
        return job.runner.runbook.stem


def _runner(earlier: Runner, job: Job) -> ScenarioRunner | GertError:
    try:
        found = earlier(job.runner.runbook)
        found.prepare()
    except UsageError:  # no such revision, or no git: nothing can be compared
        raise
    except GertError as error:
        return error
    return found


def _difference(job: Job, earlier: ScenarioRunner | GertError | None) -> Difference:
    candidate = job.candidate
    name = candidate.name
    if candidate.scenario is None:
        told = candidate.problem.message if candidate.problem is not None else "it cannot be read"
        return Difference(scenario=name, error=told)
    try:
        before = of_scenario(candidate.scenario) if earlier is None else _before(candidate, earlier)
    except GertError as error:
        return Difference(scenario=name, error=f"what it came to before is not known: {error.message}")
    if isinstance(before, str):
        return Difference(scenario=name, error=f"before, it cannot be replayed: needs {before}")
    try:
        seen = job.runner.observe(candidate.scenario.model)
    except GertError as error:
        return Difference(scenario=name, before=before.ended, error=error.message)
    after = of_replay(seen)
    if seen.missed:
        told = f"cannot be replayed: needs {', '.join(seen.missed)}"
        return Difference(scenario=name, before=before.ended, after=after.ended, error=told)
    return compare(name, before, after)


def _before(candidate: ScenarioCandidate, earlier: ScenarioRunner | GertError) -> Side | str:
    """Return what a scenario came to at a revision, or what it does not have for that."""
    if isinstance(earlier, GertError):
        raise earlier
    assert candidate.scenario is not None  # noqa: S101 - asked by the caller
    seen = earlier.observe(candidate.scenario.model)
    return ", ".join(seen.missed) if seen.missed else of_replay(seen)


class Revision:
    """The documents of a revision, extracted when the first runbook is asked for; ``close`` removes them."""

    def __init__(self, revision: str, runner: Runner) -> None:
        self._revision = revision
        self._runner = runner
        self._stack = ExitStack()
        self._roots: dict[Path, Path] = {}

    def runner(self, runbook: Path) -> ScenarioRunner:
        """Return the runner of a runbook as it was."""
        from gert_core.scenarios.diffing.revision import extracted, repository_of

        top = repository_of(runbook)
        if top not in self._roots:
            self._roots[top] = self._stack.enter_context(extracted(top, self._revision))
        if not runbook.resolve().is_relative_to(top):  # the repository says that its files are elsewhere
            raise DocumentError(f"{runbook} is not in {top}, where its repository has its files")
        inside = runbook.resolve().relative_to(top)
        earlier = self._roots[top] / inside
        if not earlier.is_file():
            raise DocumentError(f"{inside} does not exist in {self._revision}")
        return self._runner(earlier)

    def close(self) -> None:
        """Remove what was extracted."""
        self._stack.close()

    def __enter__(self) -> Revision:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


__all__ = ["Revision", "all_differences", "differences"]
