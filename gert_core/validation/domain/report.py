"""Collect findings with their positions, and suggest similar names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Diagnostic, Severity
from gert_core.documents.model_errors import path_text
from gert_core.template.quoting import fit_quotes
from gert_core.validation.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.documents.tree import Path
    from gert_core.documents.yaml import Document


_MANY: Final = 500
"""How many names a word is compared with; of more, only those with its first letter."""
_LENGTHS: Final = 3
"""By how many letters similar names differ in length at most."""
_SUGGESTION_BUDGET: Final = 300_000
"""How many names are compared for suggestions in one document."""
_FOLDED: Final = 50
"""How many more lines than its text a folded value may take in the file."""


class Report:
    """The findings of phase 3, each with file, line and column."""

    __slots__ = ("_budget", "found")

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._budget = _SUGGESTION_BUDGET

    def add(
        self,
        rule: str,
        message: str,
        *,
        document: Document,
        path: Path,
        key: bool = False,
        hint: str | None = None,
        severity: Severity | None = None,
        offset: int | None = None,
    ) -> None:
        """Add one finding; ``key`` points at the key instead of the value, ``offset`` into the value's text."""
        line, column = document.locate(path, key=key)
        if hint and not key:
            hint = fit_quotes(hint, document.source_line(line)[column - 1 : column])
        if offset is not None:
            line, column = position_in_value(document, path, line=line, column=column, offset=offset)
        known = RULES.get(rule)
        if severity is None:
            severity = known.severity if known else Severity.ERROR
        self.found.append(
            Diagnostic(
                rule=rule,
                message=message,
                severity=severity,
                phase=3,
                path=path_text(path),
                file=document.file,
                line=line,
                column=column,
                hint=hint,
            )
        )

    @property
    def suggests(self) -> bool:
        """Whether the budget for suggestions is not used up."""
        return self._budget > 0

    def did_you_mean(self, word: str, known: Iterable[str], *, prefix: str = "") -> str | None:
        """Return a hint with the most similar known name; None when the budget for suggestions is used up."""
        close = self.nearest(word, known)
        return f"did you mean `{prefix}{close}`?" if close else None

    def nearest(self, word: str, known: Iterable[str]) -> str | None:
        """Return the most similar known name; None when the budget for suggestions is used up."""
        if not self.suggests:
            return None
        from gert_core.kit.nearest import nearest  # only mistakes need it

        names = list(known)
        self._budget -= len(names) + 1
        names = [name for name in names if abs(len(name) - len(word)) <= _LENGTHS]
        if len(names) > _MANY:
            names = [name for name in names if name[:1] == word[:1]][:_MANY]
        return nearest(word, names)


def position_in_value(document: Document, path: Path, *, line: int, column: int, offset: int) -> tuple[int, int]:
    """Return the file position of an offset in a template's text; the value's own position when it is not found.

    ``offset`` counts in the decoded value, which escapes, folding and indentation shift, so the braces before it
    are counted in the value and found again in the source.
    """
    value = _value_at(document.value, path)
    if not isinstance(value, str):
        return line, column
    start = value.rfind("{{", 0, offset + 2)
    if start < 0:
        return line, column
    nth = value.count("{{", 0, start + 2)
    skip = column - 1
    for number in range(line, line + value.count("\n") + _FOLDED):
        source = document.source_line(number)
        at = source.find("{{", skip)
        while at >= 0:
            nth -= 1
            if nth == 0:
                inner = value[start:offset]
                return number, at + 1 + (len(inner) if source.startswith(inner, at) else 0)
            at = source.find("{{", at + 2)
        skip = 0
    return line, column


def _value_at(value: object, path: Path) -> object:
    for part in path:
        try:
            value = value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def listing(names: Iterable[str], *, most: int = 8) -> str:
    """Return a few names for a message."""
    all_names = list(names)
    shown = ", ".join(f"`{name}`" for name in all_names[:most])
    return f"{shown} and {len(all_names) - most} more" if len(all_names) > most else shown


def phrase(names: Sequence[str]) -> str:
    """Join names for a sentence: ``a``, ``a and b``, ``a, b and c``."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


__all__ = ["Report", "listing", "phrase", "position_in_value"]
