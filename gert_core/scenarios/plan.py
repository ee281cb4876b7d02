"""Plan which scenarios of which runbooks run, and run them in order; for the command and for hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api.errors import UsageError
from gert_core.scenarios.find import candidates_for, find_runbooks, scenarios_directory
from gert_core.scenarios.results import RunbookReport, ScenarioCounts, reports_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gert_core.scenarios.find import ScenarioCandidate
    from gert_core.scenarios.run import ScenarioRunner
    from gert_core.scenarios.select import ScenarioSelection


class Job(Struct, frozen=True, kw_only=True):
    """One scenario to run, and the report it belongs to."""

    runner: ScenarioRunner
    candidate: ScenarioCandidate
    report: RunbookReport


class Plan:
    """What will run, in order; ``runner`` makes the runner of a runbook, ``warn`` takes sentences.

    Raise ``UsageError`` when nothing would run.
    """

    def __init__(
        self,
        files: Sequence[Path],
        selection: ScenarioSelection,
        *,
        runner: Callable[[Path], ScenarioRunner],
        warn: Callable[[str], object],
    ) -> None:
        self.reports: list[RunbookReport] = []
        self.jobs: list[Job] = []
        self.archived: dict[str, int] = {}
        """How many scenarios of a runbook are not run because they are not golden."""
        found = find_runbooks(files)
        for remark in found.warnings:
            warn(remark)
        everyone: list[ScenarioCandidate] = []
        for runbook in found.runbooks:
            candidates = candidates_for(runbook, found)
            if not candidates:
                warn(f"{runbook} has no scenarios; they would be in {scenarios_directory(runbook)}")
            everyone += candidates
            named = runbook.resolve() in found.only
            chosen = (replace(selection, everything=True) if named else selection).choose(candidates)
            report = RunbookReport(runbook=str(runbook))
            self.archived[report.runbook] = chosen.archived
            if chosen.candidates:
                one = runner(runbook)
                self.reports.append(report)
                self.jobs += [Job(runner=one, candidate=candidate, report=report) for candidate in chosen.candidates]
        self._refuse_nothing(everyone, selection)

    def _refuse_nothing(self, everyone: Sequence[ScenarioCandidate], selection: ScenarioSelection) -> None:
        if not everyone:
            raise UsageError(
                "no scenarios found",
                hint="scenarios of NAME.yaml are in scenarios/NAME/SCENARIO/ beside it: scenario.yaml and test.yaml",
            )
        selection.check_matches(everyone)
        if not self.jobs:
            raise UsageError(
                "no scenario matches",
                hint="--all also runs scenarios that are not golden, which `gert scenario promote` makes",
            )


class Tested(Struct, frozen=True, kw_only=True):
    """The results of scenarios, by runbook; ``warnings`` are about scenarios that were not found or run."""

    runbooks: tuple[RunbookReport, ...]
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> ScenarioCounts:
        """Return how many scenarios there are of each status."""
        return ScenarioCounts.of(result for report in self.runbooks for result in report.results)

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert test --json``."""
        return reports_to_json(self.runbooks)


__all__ = ["Job", "Plan", "Tested"]
