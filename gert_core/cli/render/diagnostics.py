"""Format findings for people: grouped by file, each with its source line, a caret and a hint."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from gert_core.api.diagnostics import Severity
from gert_core.cli.render.terminal import escape, paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gert_core.api.diagnostics import Diagnostic

    SourceLine = Callable[[str, int], str]
    """``(file, line)`` to the text of that line; empty when it is not known."""

_WIDTH: Final = 110
_LEAD: Final = 30
_CUT: Final = "…"
_CREDENTIALS: Final = frozenset({"store-credentials", "connect-credentials"})
"""The rules whose findings are about a line with a password in it."""


def render(found: Iterable[Diagnostic], source_line: SourceLine) -> Iterator[str]:
    """Yield the lines to print; files in the order they come, findings as they are sorted."""
    by_file: dict[str, list[Diagnostic]] = {}
    for item in found:
        by_file.setdefault(item.file or "", []).append(item)
    for file, items in by_file.items():
        yield paint(escape(file) or "(no file)", "bold")
        for item in items:
            yield from one(item, source_line(file, item.line) if item.line is not None else "")
        yield ""


def one(item: Diagnostic, source: str) -> Iterator[str]:
    """Yield the lines of one finding: place, severity, rule and message, then the source line and the hint."""
    colour = "red" if item.severity is Severity.ERROR else "yellow"
    place = f"{item.line}:{item.column}" if item.line is not None else ""
    severity = paint(str(item.severity), colour, "bold")
    yield f"  {place:>7}  {severity}  {escape(item.message)}  {paint(f'[{item.rule}]', 'dim')}"
    if item.rule in _CREDENTIALS:
        from gert_core.kit.store_urls import without_password

        source = without_password(source)
    if source.strip():
        shown, pad = _window(source, (item.column or 1) - 1)
        yield f"           {paint('|', 'dim')} {shown}"
        yield f"           {paint('|', 'dim')} {pad}{paint('^', colour, 'bold')}"
    if item.hint:
        yield f"           {paint('hint:', 'cyan')} {escape(item.hint)}"


def counts(found: Iterable[Diagnostic]) -> str:
    """Return ``2 errors and 1 warning``, or ``no findings``."""
    items = list(found)
    errors = sum(1 for item in items if item.severity is Severity.ERROR)
    parts = [_count(errors, "error"), _count(len(items) - errors, "warning")]
    return " and ".join(part for part in parts if part) or "no findings"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def _window(source: str, column: int) -> tuple[str, str]:
    """Return the part of a line around a column, without control characters, and the padding to its caret."""
    start = max(0, column - _LEAD) if len(source) > _WIDTH and column > _WIDTH - _LEAD else 0
    part = source[start : start + _WIDTH]
    head = _CUT if start else ""
    tail = _CUT if start + _WIDTH < len(source) else ""
    before = _shown(source[start:column])
    pad = " " * (len(head) + sum(_cells(char) for char in before))
    return head + _shown(part).rstrip() + tail, pad


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _cells(char: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


__all__ = ["counts", "one", "render"]
