"""Name the tools of runbooks: letters that MCP allows, no name twice, words of the path where names clash."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX: Final = "runbook_"
LONGEST: Final = 64
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")


def names_of(books: Sequence[tuple[str, str]]) -> list[str]:
    """Return the tools of runbooks, each given as its name and its path from the root."""
    plain = [_word(name) for name, _ in books]
    counts = Counter(plain)
    found: list[str] = []
    for word, (_, path) in zip(plain, books, strict=True):
        clashes = counts[word] > 1
        found.append(_short(f"{PREFIX}{_word(path.rpartition('.')[0] or path)}_{word}" if clashes else PREFIX + word))
    again = Counter(found)
    return [_marked(name, path) if again[name] > 1 else name for name, (_, path) in zip(found, books, strict=True)]


def _word(text: str) -> str:
    return _OTHER.sub("_", text).strip("_") or "unnamed"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else _marked(name, name)


def _marked(name: str, by: str) -> str:
    """Return a name with a mark that tells it from others, cut to what is allowed."""
    mark = hashlib.sha256(by.encode()).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{mark}"


__all__ = ["LONGEST", "PREFIX", "names_of"]
