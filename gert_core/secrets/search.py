"""Find the forms of secrets in a text, and decide quickly that there are none."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from gert_core.secrets.forms import wrap_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Hit = tuple[int, int, str]
    """Start, end and label."""

MARK: Final = "<REDACTED:"


def find(text: str, masks: Mapping[str, str], wrapping: Mapping[str, str]) -> list[Hit]:
    """Return the places of every form, by start, the longest first; the literal mark has no label.

    Of places of one form that overlap, there are enough to cover all.
    """
    hits: list[Hit] = []
    for form, label in ((MARK, ""), *masks.items()):
        if form in text:
            hits += [(start, start + len(form), label) for start in _starts(text, form)]
    if wrapping and "\n" in text:
        hits += _find_wrapped(text, wrapping)
    hits.sort(key=lambda hit: (hit[0], -hit[1]))
    return hits


def _starts(text: str, form: str) -> Iterator[int]:
    """Yield where a form begins; of places that overlap, few enough to take time in proportion to the text."""
    size = len(form)
    start = text.find(form)
    while start >= 0:
        yield start
        end = start + size
        # The last one that begins inside of it or right behind it: all between are covered.
        after = text.rfind(form, start + 1, end + size)
        start = after if after >= 0 else text.find(form, end + 1)


def cover(hits: Sequence[Hit], since: int = 0) -> Iterator[Hit]:
    """Yield the places to replace behind ``since``, from left to right; of overlapping ones, enough to cover all."""
    done, index = since, 0
    while index < len(hits):
        start, end, label = hits[index]
        index += 1
        if end <= done or (start < done and not label):
            continue
        while start < done and index < len(hits) and hits[index][0] < done:
            if hits[index][2] and hits[index][1] > end:
                start, end, label = hits[index]
            index += 1
        yield start, end, label
        done = end


def _find_wrapped(text: str, wrapping: Mapping[str, str]) -> Iterator[Hit]:
    """Yield the places of encoded forms that go on over the end of a line."""
    lines = text.split("\n")
    returns = [line.endswith("\r") for line in lines[:-1]]
    lines = [*(line[:-1] if cut else line for line, cut in zip(lines, returns, strict=False)), lines[-1]]
    joined = "".join(lines)
    ends = list(accumulate(map(len, lines)))
    widths = [0, *accumulate(2 if cut else 1 for cut in returns)]
    for form, label in wrapping.items():
        for start in _starts(joined, form):
            end = start + len(form)
            first, last = bisect_right(ends, start), bisect_left(ends, end)
            if first < last:
                cuts = [start, *ends[first:last]]
                sizes = [after - before for before, after in pairwise(cuts)]
                yield start + widths[first], end + widths[last], f"{label}:{wrap_label(sizes, returns[first:last])}"


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


__all__ = ["MARK", "across", "cover", "find", "shortest"]
