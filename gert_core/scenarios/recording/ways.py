"""Compare the way of a run with those of the scenarios that its runbook has: the steps it executed, and its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import GertError
from gert_core.documents.scenario import RECORDED
from gert_core.scenarios.find import candidates_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.scenario import Scenario
    from gert_core.scenarios.run import ScenarioRunner

    Way = tuple[str, str | None, str | None, frozenset[str]]


def same_way(test: Mapping[str, Any], runner: ScenarioRunner) -> str | None:
    """Return the name of a scenario whose run or replay went the way that a recorded test describes."""
    wanted: Way = (
        test["expected_status"],
        test.get("expected_outcome"),
        test.get("expected_code"),
        frozenset(test["must_reach"]),
    )
    for candidate in candidates_of(runner.runbook):
        if candidate.scenario is not None and _way(candidate.scenario, runner) == wanted:
            return candidate.name
    return None


def _way(scenario: Scenario, runner: ScenarioRunner) -> Way | None:
    """Return the way of a scenario: a recorded one tells it, another one is replayed."""
    test = scenario.test
    if test is not None and RECORDED in test.tags:
        outcome = None if test.expected_outcome is None else str(test.expected_outcome)
        return str(test.expected_status), outcome, test.expected_code, frozenset(test.must_reach)
    try:
        seen = runner.observe(scenario.model)
    except GertError:
        return None
    category = None if seen.outcome is None else str(seen.outcome.category)
    code = None if seen.outcome is None else seen.outcome.code or None
    return seen.status, category, code, frozenset(seen.visits.names())


__all__ = ["same_way"]
