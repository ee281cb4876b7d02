"""What a scenario came to before: as its recorded trace has it, else as its test expects it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api.events import EventType
from gert_core.documents.scenario import RECORDED, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.scenario import Scenario
    from gert_core.scenarios.observe import Seen
    from gert_core.scenarios.visits import Visits

_COMPARED: Final = (
    EventType.RUN_START,
    EventType.RUN_RESUMED,
    EventType.RUN_SUSPENDED,
    EventType.RUN_COMPLETE,
    EventType.OUTCOME_RESOLVED,
    EventType.GOVERNANCE_DECISION,
    EventType.FOR_EACH_START,
    EventType.FOR_EACH_ITEM,
    EventType.STEP_START,
    EventType.STEP_COMPLETE,
)
"""The events of a recorded trace that a comparison needs."""


class RunEnd(Struct, frozen=True, kw_only=True):
    """How a run or a replay ended; ``None`` for what is not known."""

    status: str | None
    category: str | None = None
    code: str | None = None

    def __str__(self) -> str:
        if self.category is None:
            return self.status or "not known"
        return f"{self.category} ({self.code})" if self.code else self.category

    def to_json(self) -> dict[str, object]:
        """Return one side of a comparison."""
        return {"status": self.status, "outcome": self.category, "code": self.code}


class Side(Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    ended: RunEnd
    reached: frozenset[str]
    """The names of the steps that were executed."""
    complete: bool = True
    """Whether that is all of them, and outputs and decisions are known too."""
    avoided: frozenset[str] = frozenset()
    """Where not all are known: the names of steps that must not be executed."""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, str] = field(default_factory=dict)
    visits: Visits | None = None


def of_replay(seen: Seen) -> Side:
    """Return what a replay came to, with secrets masked as in a trace."""
    outcome = seen.outcome
    ended = RunEnd(
        status=seen.status,
        category=None if outcome is None else str(outcome.category),
        code=None if outcome is None else outcome.code or None,
    )
    return Side(
        ended=ended,
        reached=frozenset(seen.visits.names()),
        outputs=seen.result.outputs,
        decisions=seen.decisions,
        visits=seen.visits,
    )


def of_scenario(scenario: Scenario) -> Side:
    """Return what a scenario came to when it was recorded, or what its test expects."""
    trace = scenario.directory / TRACE_FILE
    if scenario.test is not None and RECORDED in scenario.test.tags and trace.is_file():
        from gert_core.scenarios.recording.fold import Taken
        from gert_core.trace.reader import read

        return _of_trace(Taken(read(trace, only=_COMPARED)))
    test = scenario.test
    if test is None:
        return Side(ended=RunEnd(status=None), reached=frozenset(), complete=False)
    category = None if test.expected_outcome is None else str(test.expected_outcome)
    status = test.expected_status or ("completed" if category is not None else None)
    return Side(
        ended=RunEnd(status=status, category=category, code=test.expected_code),
        reached=frozenset(test.must_reach),
        avoided=frozenset(test.must_not_reach),
        complete=False,
    )


def _of_trace(taken: Any) -> Side:
    state = taken.state
    outcome = (state.outcome or {}) if state.status == "completed" else {}
    return Side(
        ended=RunEnd(status=state.status, category=outcome.get("category"), code=outcome.get("code") or None),
        reached=frozenset(taken.visits.names()),
        outputs=dict(state.outputs),
        decisions=taken.decisions,
    )


__all__ = ["RunEnd", "Side", "of_replay", "of_scenario"]
