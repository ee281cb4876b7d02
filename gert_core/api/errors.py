"""The expected errors: each with a message, a place and a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from gert_core.api.error_kinds import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api.diagnostics import Diagnostic


class GertError(Exception):
    """An error the user can act on; it is printed as one sentence, never as a traceback.

    ``kind`` is a stable word for programs, ``hint`` is what to do next, ``exit_code`` is that of the command line.
    """

    exit_code: int = 1

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind or self.default_kind
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint
        self.diagnostics = tuple(diagnostics)

    default_kind: ClassVar[str] = ErrorKind.ERROR

    def to_json(self) -> dict[str, object]:
        """Return the ``error`` object of ``--json`` output."""
        return {
            "kind": self.kind,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "hint": self.hint,
            "diagnostics": [d.to_json() for d in self.diagnostics],
        }


class UsageError(GertError):
    """Bad flags, missing files: the command cannot start as given."""

    exit_code = 2
    default_kind = ErrorKind.USAGE


class InputError(GertError):
    """A runbook input is missing or cannot be coerced."""

    exit_code = 2
    default_kind = ErrorKind.INPUT


class ProjectError(GertError):
    """The project file or a policy file is invalid; nothing runs without it."""

    exit_code = 2
    default_kind = ErrorKind.PROJECT


class DocumentError(GertError):
    """A document is invalid."""

    exit_code = 1
    default_kind = ErrorKind.INVALID


class PluginError(GertError):
    """A plugin is missing, broken or conflicting."""

    exit_code = 3
    default_kind = ErrorKind.PLUGIN


class RunError(GertError):
    """A run cannot be started, continued or resumed."""

    exit_code = 1
    default_kind = ErrorKind.RUN


class TraceError(RunError):
    """The trace cannot be written or read; a run without its trace stops."""

    default_kind = ErrorKind.TRACE


class StoreError(RunError, OSError):
    """A run store cannot do what it was asked to; an ``OSError`` with a kind, which the writer of a trace understands.

    Kinds are ``run_exists``, ``run_not_found``, ``blob_exists``, ``lease_lost``, ``store_schema``,
    ``store_unavailable``; the exit code follows from the kind. ``reason`` is the part of the message that says why.
    """

    exit_code = 2
    default_kind = ErrorKind.STORE_UNAVAILABLE

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        file: str | None = None,
        hint: str | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message, kind=kind, file=file, hint=hint)
        self.strerror = reason or message
        self.exit_code = _STORE_CODES.get(self.kind, 1)


_STORE_CODES: Final[dict[str, int]] = {
    ErrorKind.RUN_NOT_FOUND: 2,
    ErrorKind.STORE_UNAVAILABLE: 2,
    ErrorKind.STORE_SCHEMA: 3,
}


__all__ = [
    "DocumentError",
    "GertError",
    "InputError",
    "PluginError",
    "ProjectError",
    "RunError",
    "StoreError",
    "TraceError",
    "UsageError",
]
