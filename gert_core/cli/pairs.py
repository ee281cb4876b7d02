"""Read ``NAME=VALUE`` words of the command line, without showing what may be a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


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


__all__ = ["parse_pairs"]
