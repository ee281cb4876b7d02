"""Find the forms of secrets in a text, and decide quickly that there are none."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from gert_core.secrets.forms import wrap_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MARK: Final = "<REDACTED:"


def find(text: str, masks: Mapping[str, str], wrapping: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Return every place of every form, by start, the longest first; the literal mark has no label."""
    hits: list[tuple[int, int, str]] = []
    for form, label in ((MARK, ""), *masks.items()):
        start = text.find(form)
        while start >= 0:
            hits.append((start, start + len(form), label))
            start = text.find(form, start + 1)
    if wrapping and "\n" in text:
        hits += _find_wrapped(text, wrapping)
    hits.sort(key=lambda hit: (hit[0], -hit[1]))
    return hits


def _find_wrapped(text: str, wrapping: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Yield the places of encoded forms that go on over the end of a line."""
    lines = text.split("\n")
    returns = [line.endswith("\r") for line in lines[:-1]]
    lines = [*(line[:-1] if cut else line for line, cut in zip(lines, returns, strict=False)), lines[-1]]
    joined = "".join(lines)
    ends = list(accumulate(map(len, lines)))
    widths = [0, *accumulate(2 if cut else 1 for cut in returns)]
    for form, label in wrapping.items():
        start = joined.find(form)
        while start >= 0:
            end = start + len(form)
            first, last = bisect_right(ends, start), bisect_left(ends, end)
            if first < last:
                cuts = [start, *ends[first:last]]
                sizes = [after - before for before, after in pairwise(cuts)]
                yield start + widths[first], end + widths[last], f"{label}:{wrap_label(sizes, returns[first:last])}"
            start = joined.find(form, start + 1)


def across(text: str, forms: tuple[str, ...], ends: tuple[str, str]) -> bool:
    """Return whether one of the forms is in a text whose lines are put together."""
    if not forms:
        return False
    joined = text.replace(ends[0], "").replace(ends[1], "")
    return any(form in joined for form in forms)


def shortest(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts without those that contain another one: enough to find whether any of them occurs."""
    kept: list[str] = []
    for text in sorted(set(texts), key=len):
        if not any(other in text for other in kept):
            kept.append(text)
    return tuple(kept)


__all__ = ["MARK", "across", "find", "shortest"]
