"""Compare the two sides of a scenario: how it ended, the steps it reached, its outputs and what policies decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.scenarios.diffing.before import RunEnd, Side


class Difference(Struct, frozen=True, kw_only=True):
    """What changed of one scenario; ``error``: why it cannot be compared."""

    scenario: str
    before: RunEnd | None = None
    after: RunEnd | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    outputs: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    decisions: tuple[tuple[str, str | None, str | None], ...] = ()
    error: str | None = None

    @property
    def ended_otherwise(self) -> bool:
        """Whether status, outcome or code changed, as far as they are known."""
        if self.before is None or self.after is None:
            return False
        pairs = (
            (self.before.status, self.after.status),
            (self.before.category, self.after.category),
            (self.before.code, self.after.code),
        )
        return any(a is not None and a != b for a, b in pairs)

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        changed = self.added or self.removed or self.outputs or self.decisions
        return self.error is None and not self.ended_otherwise and not changed

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``scenarios``."""
        return {
            "scenario": self.scenario,
            "before": None if self.before is None else self.before.to_json(),
            "after": None if self.after is None else self.after.to_json(),
            "same": self.same,
            "steps": {"added": list(self.added), "removed": list(self.removed)},
            "outputs": {name: list(pair) for name, pair in self.outputs.items()},
            "decisions": [{"step": step, "before": a, "after": b} for step, a, b in self.decisions],
            "error": self.error,
        }


class DiffReport(Struct, kw_only=True):
    """The differences of one runbook; ``left_out`` is how many of its scenarios were not compared."""

    runbook: str
    name: str
    differences: list[Difference] = field(default_factory=list)
    left_out: int = 0

    @property
    def summary(self) -> dict[str, int]:
        """Return how many scenarios are unchanged, changed, and cannot be compared."""
        errors = sum(one.error is not None for one in self.differences)
        unchanged = sum(one.same for one in self.differences)
        return {"unchanged": unchanged, "changed": len(self.differences) - errors - unchanged, "errors": errors}

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``runbooks``."""
        return {
            "runbook": self.runbook,
            "scenarios": [one.to_json() for one in self.differences],
            "summary": self.summary,
        }


class Diffed(Struct, frozen=True, kw_only=True):
    """The differences of all runbooks; ``warnings`` are about scenarios that were not found or compared."""

    runbooks: tuple[DiffReport, ...]
    warnings: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing changed anywhere."""
        return all(one.same for report in self.runbooks for one in report.differences)

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert diff --json``."""
        return {"runbooks": [report.to_json() for report in self.runbooks]}


def compare(scenario: str, before: Side, after: Side) -> Difference:
    """Return what changed between two sides of a scenario, as far as the first one knows."""
    found = Difference(scenario=scenario, before=before.ended, after=after.ended)
    if not before.complete:
        return _as_expected(found, before, after)
    outputs = {
        name: (a, b)
        for name in {**before.outputs, **after.outputs}
        if (a := _plain(before.outputs.get(name))) != (b := _plain(after.outputs.get(name)))
    }
    # A step that only one side reached is named among the steps.
    both = [step for step in before.decisions if step in after.decisions]
    return Difference(
        scenario=scenario,
        before=before.ended,
        after=after.ended,
        added=_sorted(after.reached - before.reached),
        removed=_sorted(before.reached - after.reached),
        outputs=outputs,
        decisions=tuple(
            (step, before.decisions[step], after.decisions[step])
            for step in both
            if before.decisions[step] != after.decisions[step]
        ),
    )


def _as_expected(found: Difference, before: Side, after: Side) -> Difference:
    visits = after.visits
    assert visits is not None  # noqa: S101 - what is compared with a test is a replay
    return Difference(
        scenario=found.scenario,
        before=found.before,
        after=found.after,
        added=_sorted(name for name in before.avoided if visits.reached(name)),
        removed=_sorted(name for name in before.reached if not visits.reached(name)),
    )


def _sorted(names: Any) -> tuple[str, ...]:
    found: Sequence[str] = sorted(names)
    return tuple(found)


def _plain(value: Any) -> Any:
    """Return a masked value in which a text that looks like a mask is the same as a mask.

    A recording has masks where its run had secrets, and for its replay they are texts like any other.
    """
    if isinstance(value, str):
        return value.replace("<REDACTED::", "<REDACTED:")
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


__all__ = ["DiffReport", "Diffed", "Difference", "compare"]
