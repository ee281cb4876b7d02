"""Find the known name that a mistyped one probably stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST: Final = 200
"""Longer words are compared with nothing: comparing takes quadratic time."""


def nearest(word: str, known: Iterable[str], *, also: Mapping[str, str] | None = None) -> str | None:
    """Return the known name that is most similar to a word, whatever the case of its letters; None when none is.

    ``also`` are words that others use for these names.
    """
    if also and (meant := also.get(word.casefold())) is not None:
        return meant
    from difflib import get_close_matches

    if len(word) > _LONGEST:
        return None
    folded = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), list(folded), n=1)
    return folded[found[0]] if found else None


__all__ = ["nearest"]
