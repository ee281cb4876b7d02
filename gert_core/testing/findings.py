"""Show the findings of validation in the output of failed tests."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gert_core.api import GertError
from gert_core.host import validate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gert_core.api import Diagnostic
    from gert_core.plugin.registry import Registry


def describe(findings: Sequence[Diagnostic]) -> str:
    """Return findings as text, one per line with its place, rule and hint."""
    return "\n".join(_line(found) for found in findings)


def assert_valid(path: str | Path, *, registry: Registry | None = None) -> None:
    """Assert that validation has nothing to say about a document, not even a warning."""
    found = validate(path, registry=registry)
    assert not found.diagnostics, f"{path} has findings:\n{describe(found.diagnostics)}"


@contextmanager
def findings_shown() -> Iterator[None]:
    """Add the findings to an error about an invalid document, so that pytest prints them."""
    try:
        yield
    except GertError as error:
        if error.diagnostics:
            error.add_note(describe(error.diagnostics))
        elif error.hint:
            error.add_note(f"hint: {error.hint}")
        raise


def _line(found: Diagnostic) -> str:
    where = ":".join(str(part) for part in (found.file or found.path, found.line, found.column) if part)
    hint = f"\n    hint: {found.hint}" if found.hint else ""
    return f"{where}: {found.severity}: {found.message} [{found.rule}]{hint}"


__all__ = ["assert_valid", "describe", "findings_shown"]
