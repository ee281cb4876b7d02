"""``gert test``: replay the scenarios of runbooks and compare the results with their expectations."""

from __future__ import annotations

import json as json_
import sys
from contextlib import closing
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Any, Final

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.scenario_options import all_option, runbooks_argument, scenario_option

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from gert_core.plugin.registry import Registry
    from gert_core.scenarios import RunbookReport, ScenarioResult
    from gert_core.scenarios.plan import Job, Plan
    from gert_core.scenarios.run import ScenarioRunner

DEFAULT_TIMEOUT: Final = "60s"


def run_tests(
    ctx: typer.Context,
    files: Annotated[list[Path], runbooks_argument()],
    *,
    scenario: Annotated[list[str] | None, scenario_option()] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only scenarios with this tag; repeatable.")
    ] = None,
    everything: Annotated[bool, all_option()] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Also write the results as JUnit XML.", readable=False),
    ] = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="How long one scenario may take.")
    ] = DEFAULT_TIMEOUT,
    floor: Annotated[
        bool, typer.Option("--floor", help="Keep to the policies and plugins of this machine too.")
    ] = False,
    jobs: Annotated[int, typer.Option("-j", "--jobs", metavar="N", help="Processes to work in.")] = 1,
) -> int:
    """Replay scenarios and compare what happens with what their test.yaml expects. Nothing real is touched."""
    seconds = _seconds(timeout)
    if jobs < 1:
        raise UsageError(f"-j takes a number of processes from 1, not {jobs}")
    from gert_core.scenarios import ScenarioCounts, ScenarioSelection
    from gert_core.scenarios.plan import Plan
    from gert_core.scenarios.results import reports_to_json

    selection = ScenarioSelection(names=scenario or (), tags=tag or (), everything=everything)
    runner = Runners(ctx.obj, floor=floor).of
    plan = Plan(files, selection, runner=runner, warn=lambda remark: err(escape(f"warning: {remark}")))
    show = _Show(plan, quiet=json)
    with closing(_results(plan.jobs, seconds=seconds, workers=jobs, fail_fast=fail_fast)) as results:
        for job, result in zip(plan.jobs, results, strict=True):
            job.report.results.append(result)
            show.result(job, result)
    if junit is not None:
        _write_junit(junit, plan.reports)
    summary = ScenarioCounts.of(result for report in plan.reports for result in report.results)
    if json:
        out(json_.dumps(reports_to_json(plan.reports), ensure_ascii=False))
    else:
        show.end(str(summary))
    return 0 if summary.ok else 1


class Runners:
    """The runners of runbooks; registries are built once per project."""

    def __init__(self, options: Any, *, floor: bool) -> None:
        self._options = options
        self._floor = floor
        self._registries: dict[Path | None, Registry] = {}

    def of(self, runbook: Path) -> ScenarioRunner:
        from gert_core.cli.session import project_here, registry_for
        from gert_core.host import SilentConsole
        from gert_core.scenarios.run import ScenarioRunner

        project = project_here(runbook.parent)
        root = project.root.resolve() if project is not None else None
        if root not in self._registries:
            self._registries[root] = registry_for(project, self._options, floor=self._floor)
        return ScenarioRunner(
            runbook=runbook,
            registry=self._registries[root],
            console=SilentConsole(),
            project=project,
            environ=self._options.environ,
            floor=self._floor,
        )


def _results(jobs: Sequence[Job], *, seconds: float | None, workers: int, fail_fast: bool) -> Generator[ScenarioResult]:
    """Yield the result of every job, in order; with ``fail_fast`` skip those after a failure."""
    from gert_core.scenarios.run import skipped

    stopped = False
    with closing(_run(jobs, seconds=seconds, workers=workers)) as results:
        for job in jobs:
            if stopped:
                yield skipped(job.candidate.name, "not run, because of --fail-fast")
                continue
            result = next(results)
            stopped = fail_fast and not result.ok
            yield result


def _run(jobs: Sequence[Job], *, seconds: float | None, workers: int) -> Generator[ScenarioResult]:
    from gert_core.cli.time_limit import TimeUp, time_limit
    from gert_core.scenarios.run import lost, timed_out

    def one(job: Job) -> ScenarioResult:
        job.runner.prepare()
        try:
            with time_limit(seconds):
                return job.runner.run(job.candidate)
        except TimeUp:
            return timed_out(job.candidate.name, seconds or 0.0)

    if workers == 1:
        yield from map(one, jobs)
        return
    from gert_core.cli.workers import in_order

    for job in jobs:
        job.runner.prepare()  # once, before the processes part
    yield from in_order(jobs, one, workers=workers, lost=lambda job: lost(job.candidate.name))


class _Show:
    """Prints results as they come; with ``--json`` only warnings, on stderr."""

    def __init__(self, plan: Plan, *, quiet: bool) -> None:
        self._plan = plan
        self._quiet = quiet
        self._runbook: str | None = None

    def result(self, job: Job, result: ScenarioResult) -> None:
        if not self._quiet:
            from gert_core.cli.render.scenario_results import line

            if job.report.runbook != self._runbook:
                self._runbook = job.report.runbook
                archived = self._plan.archived[self._runbook]
                out(escape(self._runbook) + (f"  ({archived} not golden, --all runs them)" if archived else ""))
            out(line(result))
            if sys.stdout is not None and sys.stdout.isatty():
                sys.stdout.flush()
        for warning in result.warnings:
            err(escape(f"warning: {job.report.runbook}: {result.scenario}: {warning}"))

    def end(self, summary: str) -> None:
        from gert_core.cli.render.scenario_results import failures

        for text in failures(self._plan.reports):
            out(text)
        out()
        out(summary)


def _seconds(text: str) -> float | None:
    from gert_core.values import duration

    try:
        seconds = duration(text)
    except ValueError as error:
        raise UsageError(f"--timeout: {error}", hint="write it as 500ms, 30s or 2m; 0 means without limit") from None
    return seconds or None  # `0s` means without limit


def _write_junit(path: Path, reports: Sequence[RunbookReport]) -> None:
    from gert_core.kit.files import write_named
    from gert_core.scenarios.junit import junit

    try:
        write_named(path, junit(reports))
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", hint="choose another --junit file"
        ) from error


__all__ = ["Runners", "run_tests"]
