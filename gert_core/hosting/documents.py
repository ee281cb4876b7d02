"""What a host does with documents without running them: validate, explain, draw and test them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from gert_core.api import UsageError
from gert_core.documents.load import complete_runbook, load_runbook
from gert_core.documents.yaml import overlaid
from gert_core.governance.findings import with_governance
from gert_core.governance.sources import load_governed
from gert_core.runs.find import find_run
from gert_core.runs.listing import run_info
from gert_core.validation import validate_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.explain.steps import ExplainedStep
    from gert_core.graph.model import Graph
    from gert_core.hosting.site import Site
    from gert_core.scenarios import ScenarioResult
    from gert_core.scenarios.diffing.compare import Diffed
    from gert_core.scenarios.find import ScenarioCandidate
    from gert_core.scenarios.plan import Job, Tested
    from gert_core.scenarios.run import ScenarioRunner
    from gert_core.validation.pipeline import Validated


class Documents:
    """The documents of one project, for hosts."""

    _site: Site

    def validate(
        self, path: str | Path, *, text: str | None = None, overlay: Mapping[str | Path, str] | None = None
    ) -> Validated:
        """Validate a document of any kind; with ``text`` as if its file had it, ``overlay`` has those of others."""
        file = self._site.path(path)
        texts = {self._site.path(name): given.encode() for name, given in (overlay or {}).items()}
        if text is not None:
            texts[file] = text.encode()
        with overlaid(texts):
            project = self._site.project_of(file)
            registry = self._site.registry_of(project)
            found = validate_file(file, registry=registry, project=project)
            return with_governance(found, registry=registry, project=project)

    def explain(
        self, path: str | Path, step: str | None = None, *, policies: Sequence[str | Path] = ()
    ) -> list[ExplainedStep]:
        """Explain the steps of a runbook, or one of them by its id, before they run: ``gert explain``.

        Raise ``DocumentError`` for a runbook that is not valid, ``UsageError`` for a step that it does not have.
        """
        from gert_core.explain.steps import UNEXPLAINED, explain_steps, find_steps

        file = self._site.path(path)
        project = self._site.project_of(file)
        registry = self._site.registry_of(project)
        files = [self._site.path(policy) for policy in policies]
        book, governed = load_governed(file, registry=registry, project=project, files=files, so=UNEXPLAINED)
        every = explain_steps(book, governed, registry=registry, project=project, environ=self._site.environ)
        return find_steps(list(every), [] if step is None else [step])

    def graph(self, path: str | Path, run_id: str | None = None) -> Graph:
        """Return the steps of a runbook and how they follow each other, with what became of them in a run of it.

        ``render`` of the graph gives ``text``, ``mermaid``, ``dot`` or ``svg``.
        """
        from gert_core.graph.build import build_graph
        from gert_core.graph.status import of_run

        file = self._site.path(path)
        project = self._site.project_of(file)
        loaded = load_runbook(file, registry=self._site.registry_of(project), project=project)
        book = complete_runbook(loaded, so="it has no graph")
        found = build_graph(book)
        if run_id is None:
            return found
        with find_run(self._site.store, run_id) as stored:
            return of_run(found, book, run_info(stored))

    def to_test(self, paths: Sequence[str | Path]) -> dict[Path, list[ScenarioCandidate]]:
        """Return the runbooks that ``test`` finds by these paths, each with its scenarios; nothing is replayed."""
        from gert_core.scenarios.find import candidates_for, find_runbooks

        found = find_runbooks([self._site.path(path) for path in paths])
        return {runbook: candidates_for(runbook, found) for runbook in found.runbooks}

    def test(
        self,
        paths: Sequence[str | Path],
        *,
        scenario: Sequence[str] = (),
        tag: Sequence[str] = (),
        all: bool = False,  # noqa: A002 - the option is called so
        jobs: int = 1,
    ) -> Tested:
        """Replay scenarios of runbooks, or of all below directories, and compare: ``gert test``.

        Options are those of the command; ``jobs`` scenarios are replayed at once, in threads.
        """
        from gert_core.scenarios import ScenarioSelection
        from gert_core.scenarios.plan import Plan, Tested

        if jobs < 1:
            raise UsageError(f"jobs is a number from 1, not {jobs}")
        warnings: list[str] = []
        plan = Plan(
            [self._site.path(path) for path in paths],
            ScenarioSelection(names=scenario, tags=tag, everything=all),
            runner=self._runner,
            warn=warnings.append,
        )
        for job in plan.jobs:
            job.runner.prepare()
        with ThreadPoolExecutor(jobs, thread_name_prefix="gert-test") as pool:
            for job, result in zip(plan.jobs, pool.map(_replay, plan.jobs), strict=True):
                job.report.results.append(result)
                warnings += result.warnings
        return Tested(runbooks=tuple(plan.reports), warnings=tuple(warnings))

    def diff(
        self,
        paths: Sequence[str | Path],
        *,
        scenario: Sequence[str] = (),
        all: bool = False,  # noqa: A002 - the option is called so
        against: str | None = None,
    ) -> Diffed:
        """Replay golden scenarios, and tell what changed since they were recorded or since a revision: ``gert diff``.

        Options are those of the command.
        """
        from gert_core.scenarios.diffing.diff import Revision, all_differences
        from gert_core.scenarios.plan import Plan
        from gert_core.scenarios.select import Golden

        warnings: list[str] = []
        files = [self._site.path(path) for path in paths]
        plan = Plan(files, Golden(names=scenario, everything=all), runner=self._runner, warn=warnings.append)
        if against is None:
            return all_differences(plan, earlier=None, warnings=warnings)
        with Revision(against, self._runner) as revision:
            return all_differences(plan, earlier=revision.runner, warnings=warnings)

    def _runner(self, runbook: Path) -> ScenarioRunner:
        from gert_core.host import SilentConsole
        from gert_core.scenarios.run import ScenarioRunner

        project = self._site.project_of(runbook)
        return ScenarioRunner(
            runbook=runbook,
            registry=self._site.registry_of(project, floor=False),
            console=SilentConsole(),
            project=project,
            environ=self._site.environ,
        )


def _replay(job: Job) -> ScenarioResult:
    return job.runner.run(job.candidate)


__all__ = ["Documents"]
