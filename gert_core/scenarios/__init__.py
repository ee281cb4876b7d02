"""Scenarios and their tests: finding, selecting and replaying them, checking expectations, reporting results."""

from __future__ import annotations

from gert_core.scenarios.expect import Observed, check_expectations
from gert_core.scenarios.find import FoundRunbooks, ScenarioCandidate, candidates_of, find_runbooks, scenarios_directory
from gert_core.scenarios.results import Assertion, RunbookReport, ScenarioCounts, ScenarioResult, ScenarioStatus
from gert_core.scenarios.select import Chosen, ScenarioSelection
from gert_core.scenarios.visits import Visit, Visits

__all__ = [
    "Assertion",
    "Chosen",
    "FoundRunbooks",
    "Observed",
    "RunbookReport",
    "ScenarioCandidate",
    "ScenarioCounts",
    "ScenarioResult",
    "ScenarioSelection",
    "ScenarioStatus",
    "Visit",
    "Visits",
    "candidates_of",
    "check_expectations",
    "find_runbooks",
    "scenarios_directory",
]
