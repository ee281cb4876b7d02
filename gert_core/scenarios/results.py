"""Results of tests: assertions, the result of a scenario, and the report of a runbook."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_HEAD: Final = 10
_TAIL: Final = 40


class ScenarioStatus(StrEnum):
    """The status of a scenario; ``error`` is a test that could not be run, not a run that ended in error."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"


class Assertion(Struct, frozen=True, kw_only=True):
    """One expectation and the actual value; ``type`` is its field in ``test.yaml``, ``key`` its subject."""

    type: str
    key: str | None
    expected: object
    actual: object
    passed: bool
    message: str = ""

    @property
    def title(self) -> str:
        """Type and key, such as ``must_reach restart``."""
        return self.type if self.key is None else f"{self.type} {self.key}"


class ScenarioResult(Struct, frozen=True, kw_only=True):
    """The result of one scenario; ``path`` is every step key of the run with its status, in order."""

    scenario: str
    status: ScenarioStatus
    duration: float = 0.0
    assertions: tuple[Assertion, ...] = ()
    error: str | None = None
    hint: str | None = None
    path: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it does not make the command fail."""
        return self.status in (ScenarioStatus.PASSED, ScenarioStatus.SKIPPED)

    @property
    def failed(self) -> tuple[Assertion, ...]:
        """The assertions that failed."""
        return tuple(assertion for assertion in self.assertions if not assertion.passed)

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``scenarios``; the message of a failed assertion includes the steps of the run."""
        steps = f"; steps of the run: {path_text(self.path)}" if self.path else ""
        return {
            "scenario": self.scenario,
            "mode": "replay",
            "status": str(self.status),
            "duration_ms": round(self.duration * 1000),
            "assertions": [
                {
                    "type": found.type,
                    "key": found.key,
                    "expected": found.expected,
                    "actual": found.actual,
                    "passed": found.passed,
                    "message": found.message if found.passed else found.message + steps,
                }
                for found in self.assertions
            ],
            "error": self.error,
        }


class ScenarioCounts(Struct, frozen=True, kw_only=True):
    """Scenarios counted by status."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0

    @classmethod
    def of(cls, results: Iterable[ScenarioResult]) -> ScenarioCounts:
        """Count scenario results."""
        counts = dict.fromkeys(ScenarioStatus, 0)
        for result in results:
            counts[result.status] += 1
        return cls(
            total=sum(counts.values()),
            passed=counts[ScenarioStatus.PASSED],
            failed=counts[ScenarioStatus.FAILED],
            skipped=counts[ScenarioStatus.SKIPPED],
            errors=counts[ScenarioStatus.ERROR],
        )

    @property
    def ok(self) -> bool:
        """Whether everything that ran passed."""
        return not self.failed and not self.errors

    def to_json(self) -> dict[str, int]:
        """Return the ``summary`` object."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def __str__(self) -> str:
        line = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{line}, {self.errors} error{'' if self.errors == 1 else 's'}" if self.errors else line


class RunbookReport(Struct, kw_only=True):
    """The results of one runbook's scenarios."""

    runbook: str
    results: list[ScenarioResult] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``runbooks``."""
        return {
            "runbook": self.runbook,
            "scenarios": [result.to_json() for result in self.results],
            "summary": ScenarioCounts.of(self.results).to_json(),
        }


def reports_to_json(reports: Sequence[RunbookReport]) -> dict[str, object]:
    """Return the document of ``gert test --json``."""
    results = [result for report in reports for result in report.results]
    return {"runbooks": [report.to_json() for report in reports], "summary": ScenarioCounts.of(results).to_json()}


def path_text(path: Sequence[tuple[str, str]]) -> str:
    """Format a path on one line."""
    return ", ".join(f"{key} ({status})" if status else key for key, status in shortened(path))


def shortened(path: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Shorten a long path to its beginning and its end, where the reason usually is."""
    if len(path) <= _HEAD + _TAIL:
        return path
    left_out = f"... {len(path) - _HEAD - _TAIL} more ..."
    return [*path[:_HEAD], (left_out, ""), *path[-_TAIL:]]


__all__ = [
    "Assertion",
    "RunbookReport",
    "ScenarioCounts",
    "ScenarioResult",
    "ScenarioStatus",
    "path_text",
    "reports_to_json",
    "shortened",
]
