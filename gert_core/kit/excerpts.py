"""Cut texts for messages, never inside the value of a secret.

Half a value cannot be masked later: nothing tells it from other text. So every text that may hold a secret is cut here,
and the runs of this process say where their secrets are in it. Values that stay whole are masked where messages leave
gert, with the name of the secret.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gert_core.kit.escaping import escape, is_visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Find = Callable[[str], list[tuple[int, int]]]

HIDDEN: Final = "<REDACTED>"
"""What stands for a secret that a cut would divide, or that is quoted in more than one way."""
_finders: list[Find] = []


@contextmanager
def hiding(find: Find) -> Iterator[None]:
    """Let ``find`` say where the secrets of a run are in a text, by start and end, until the run is over."""
    _finders.append(find)
    try:
        yield
    finally:
        _finders.remove(find)


def part(text: str, start: int = 0, end: int | None = None) -> str:
    """Return ``text[start:end]`` for positions that are not negative; a divided secret becomes ``<REDACTED>``."""
    end = len(text) if end is None else min(end, len(text))
    if start <= 0 and end == len(text):
        return text
    before = after = ""
    places = _places(text)
    for first, last in places:
        if first < start < last:
            start, before = last, HIDDEN
    for first, last in reversed(places):
        if first < end < last:
            end, after = first, HIDDEN
    return before + text[start:end] + after if start <= end else HIDDEN


def shorten(text: str, size: int, more: str = "…") -> str:
    """Return a text of at most ``size`` characters; ``more`` stands for the rest of a longer one."""
    return text if len(text) <= size else part(text, 0, size - len(more)) + more


def first_line(text: str, size: int) -> str:
    """Return the beginning of the first line."""
    text = text.strip()
    end = text.find("\n")
    return shorten(text if end < 0 else part(text, 0, end), size, "...")


def last_line(text: str, size: int = 200) -> str:
    """Return the beginning of the last line, such as the one in which a program says why it failed."""
    text = text.strip()
    return shorten(part(text, text.rfind("\n") + 1), size)


def quoted(text: str) -> str:
    """Return a text in quotes for a message; secrets are replaced first, since the text may be quoted already."""
    return repr(_hidden(text))


def quotable(value: object) -> object:
    """Return a value to be quoted in a message (``repr``, JSON), with secrets replaced in texts that quoting changes.

    A secret may be quoted in them already, and would not be found when it is so twice; others are masked with their
    names where the message leaves gert.
    """
    if isinstance(value, str):
        return value if repr(value)[1:-1] == value == json.dumps(value, ensure_ascii=False)[1:-1] else _hidden(value)
    if isinstance(value, (list, tuple)):
        return [quotable(one) for one in value]
    if isinstance(value, dict):
        return {quotable(key): quotable(one) for key, one in value.items()}
    return value


def visible(text: str) -> str:
    """Return a text with every character of it visible, on one line, as ``escape`` does.

    Secrets are replaced before anything is spelled out, after which they would not be found; others stay, to be masked
    with their names.
    """
    return text if is_visible(text) else escape(_hidden(text))


def _hidden(text: str) -> str:
    out: list[str] = []
    done = 0
    for first, last in _places(text):
        if first >= done:
            out += (text[done:first], HIDDEN)
        done = max(done, last)
    return "".join((*out, text[done:]))


def _places(text: str) -> list[tuple[int, int]]:
    return sorted(place for find in tuple(_finders) for place in find(text))


__all__ = ["HIDDEN", "first_line", "hiding", "last_line", "part", "quotable", "quoted", "shorten", "visible"]
