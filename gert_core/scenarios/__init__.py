"""Scenarios and their tests: finding, selecting and replaying them, checking expectations, reporting results."""

from __future__ import annotations

from gert_core.scenarios.expect import Observed, check_expectations
from gert_core.scenarios.find import Candidate, FoundRunbooks, candidates_of, find_runbooks, scenarios_directory
from gert_core.scenarios.results import Assertion, RunbookReport, ScenarioResult, ScenarioStatus, Summary
from gert_core.scenarios.select import Chosen, Selection
from gert_core.scenarios.visits import Visit, Visits

__all__ = [
    "Assertion",
    "Candidate",
    "Chosen",
    "FoundRunbooks",
    "Observed",
    "RunbookReport",
    "ScenarioResult",
    "ScenarioStatus",
    "Selection",
    "Summary",
    "Visit",
    "Visits",
    "candidates_of",
    "check_expectations",
    "find_runbooks",
    "scenarios_directory",
]
