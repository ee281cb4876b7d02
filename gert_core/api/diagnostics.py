"""The findings of validation."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """Whether a diagnostic makes the document invalid."""

    ERROR = "error"
    WARNING = "warning"


class Diagnostic(Struct, frozen=True, kw_only=True):
    """One finding: a stable rule id, its place, and a hint how to correct it.

    ``path`` is the place inside the document (``steps[2].inputs.url``), ``line`` and ``column`` start at 1.
    ``phase`` is 1 (structure), 2 (values) or 3 (meaning).
    """

    rule: str
    message: str
    severity: Severity = Severity.ERROR
    phase: int = 3
    path: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the object printed by ``gert validate --json``."""
        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "phase": self.phase,
            "message": self.message,
            "path": self.path,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
        }


class Finding(Struct, frozen=True, kw_only=True):
    """A finding of a step type about its own step, before the core knows the position.

    ``path`` is relative to the step (``("branches", 0, "condition")``).
    """

    rule: str
    message: str
    path: tuple[str | int, ...] = ()
    severity: Severity = Severity.ERROR
    hint: str | None = None


__all__ = ["Diagnostic", "Finding", "Severity"]
