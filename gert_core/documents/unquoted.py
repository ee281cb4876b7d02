"""What is wrong with a file of values, without a word of it: any of them may be the value of a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.documents.compose import EMPTY, HALF, SEVERAL
from gert_core.documents.yaml import NOT_UTF_8, TOO_LARGE

if TYPE_CHECKING:
    from gert_core.api.diagnostics import Diagnostic

_FIXED: Final = (EMPTY, SEVERAL, TOO_LARGE, NOT_UTF_8, HALF)
"""Messages that say nothing of a value; what may follow one is of the file's text and is left out."""
_TWICE: Final = "a key is given twice in one map"
_SYNTAX: Final = "this is not valid YAML"
_QUOTE: Final = "quote texts that begin with * & ! % @ ` or have `: ` or ` #` in them, and check quotes and indentation"


def unquoted(found: Diagnostic) -> tuple[str, str | None]:
    """Return the message and hint about a file of values, which quote nothing of it, not even a name."""
    for fixed in _FIXED:
        if found.message.startswith(fixed):
            return fixed, found.hint
    if found.rule == "duplicate-key":
        return _TWICE, found.hint
    return _SYNTAX, _QUOTE


__all__ = ["unquoted"]
