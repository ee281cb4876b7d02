"""Read the inputs that a command line gives: ``NAME=VALUE`` words, without showing what may be a secret, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def parse_pairs(words: Iterable[str], *, what: str) -> dict[str, str]:
    """Return the words as a map; refuse a name that is given twice. ``what`` begins the messages."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            # What was given may be the value of a secret.
            given = "nothing before `=`" if equals else "a word without `=`, which is not shown here"
            raise UsageError(f"{what} takes NAME=VALUE, not {given}")
        if name in found:
            raise UsageError(f"{what} gives {name!r} twice")
        found[name] = value
    return found


def read_inputs(files: Iterable[Path]) -> dict[str, Any]:
    """Read the ``--input`` files into one map; later files override earlier ones. No error shows what is in one."""
    out: dict[str, Any] = {}
    for file in files:
        from gert_core.documents import yaml
        from gert_core.documents.unquoted import unquoted

        document = yaml.load(file)
        if document.diagnostics:
            first = document.diagnostics[0]
            message, hint = unquoted(first)
            message = f"--input {file}: {message}"
            raise UsageError(message, file=str(file), line=first.line, column=first.column, hint=hint)
        if not isinstance(document.value, dict):
            raise UsageError(f"--input {file} is not a map of inputs", file=str(file))
        out.update(document.value)
    return out


__all__ = ["parse_pairs", "read_inputs"]
