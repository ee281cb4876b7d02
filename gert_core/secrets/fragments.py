"""Hide fragments of secrets that somebody else has cut: programs that are stopped, full buffers, other plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.kit.excerpts import HIDDEN as FRAGMENT_MASK
from gert_core.secrets.forms import MINIMUM

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

FRAGMENT: Final = 8
"""The least number of characters of a value that are masked as a fragment of it."""
LINES: Final = 4
"""How many times its own length an encoded form may have with the ends of lines in it."""


def with_pieces(text: str, forms: Iterable[str]) -> list[str]:
    """Return the forms of which ``mask_pieces`` may find something in a text or in a part of it."""
    return [form for form in forms if (size := _size(form)) and (form[:size] in text or form[-size:] in text)]


def mask_pieces(text: str, forms: Iterable[str]) -> str:
    """Replace the beginnings and ends of forms of secrets that are long enough to be no chance."""
    for form in forms:
        if size := _size(form):
            text = _without(text, _beginnings(text, form, size))
            text = _without(text, _ends(text, form, size))
    return text


def _size(form: str) -> int:
    """Return how much of a form is a piece of it; nothing of a short one."""
    size = min(FRAGMENT, len(form) - 2)
    return size if size * 2 >= FRAGMENT else 0


def _beginnings(text: str, form: str, size: int) -> Iterator[tuple[int, int]]:
    start = text.find(form[:size])
    while start >= 0:
        end = start + size
        while end < len(text) and end - start < len(form) and text[end] == form[end - start]:
            end += 1
        yield start, end
        start = text.find(form[:size], end)


def _ends(text: str, form: str, size: int) -> Iterator[tuple[int, int]]:
    done = 0
    found = text.find(form[-size:])
    while found >= 0:
        start, end = found, found + size
        while start > done and end - start < len(form) and text[start - 1] == form[start - 1 - end]:
            start -= 1
        yield start, end
        done = end
        found = text.find(form[-size:], end)


def _without(text: str, places: Iterable[tuple[int, int]]) -> str:
    out: list[str] = []
    done = 0
    for start, end in places:
        out += (text[done:start], FRAGMENT_MASK)
        done = end
    return "".join((*out, text[done:])) if out else text


def mask_ends(text: str, forms: Collection[str], *, first: bool = True, last: bool = True) -> str:
    """Replace the beginning of a secret at the end of ``text``, and the end of one at its beginning.

    Only the ``first`` and the ``last`` part of a whole text have such an end: other parts are beside complete values.
    """
    if not (first or last):
        return text
    head = tail = 0
    for size in range(MINIMUM, min(FRAGMENT, len(text) + 1)):  # longer ones are found wherever they are
        end, begin = text[-size:], text[:size]
        for form in forms:
            if len(form) > size:
                tail = size if last and form.startswith(end) else tail
                head = size if first and form.endswith(begin) else head
    if head + tail > len(text):
        return FRAGMENT_MASK
    before, after = (FRAGMENT_MASK if size else "" for size in (head, tail))
    return before + text[head : len(text) - tail] + after


def unfinished(text: str, forms: Collection[str], wrapping: Collection[str]) -> int:
    """Return where in a text that goes on the first form begins that may be completed by what follows.

    Those under ``wrapping`` may go on over the ends of lines.
    """
    cut = _beginning(text, forms)
    if wrapping:
        cut = min(cut, _unfinished_lines(text, wrapping))
    # The end of a line is not cut: it says how lines are wrapped.
    return cut - 1 if cut > 0 and text[cut - 1] == "\r" else cut


def _unfinished_lines(text: str, forms: Collection[str]) -> int:
    base = max(0, len(text) - LINES * max(map(len, forms)))
    tail = text[base:]
    if "\n" not in tail and "\r" not in tail:
        return len(text)
    places = [index for index, char in enumerate(tail, base) if char not in "\r\n"]
    joined = tail.replace("\r", "").replace("\n", "")
    first = _beginning(joined, forms)
    return places[first] if first < len(joined) else len(text)


def _beginning(text: str, forms: Collection[str]) -> int:
    """Return where the first form begins that goes on behind the text; its end when none does."""
    first = len(text)
    for form in forms:
        at = text.find(form[0], max(0, len(text) - len(form) + 1))
        while 0 <= at < first:
            if form.startswith(text[at:]):
                first = at
                break
            at = text.find(form[0], at + 1)
    return first


__all__ = ["FRAGMENT", "FRAGMENT_MASK", "LINES", "mask_ends", "mask_pieces", "unfinished", "with_pieces"]
