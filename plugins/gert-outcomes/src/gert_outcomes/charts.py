"""Draw the charts of the page as inline SVG, in percent of its width, so that no text shrinks with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_outcomes.marking import marked
from gert_outcomes.style import kind_class
from gert_outcomes.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gert_outcomes.summary import TrendBucket

_HEIGHT: Final = 150
"""The height of the columns of a trend."""
_TOP: Final = 16
_BELOW: Final = 20
_GAP: Final = 0.18
"""The part of a column's place that stays free."""
_WIDEST: Final = 6.0
"""The most percent of the width that a column takes."""


def split_bar(kinds: Mapping[str, int], *, height: int = 22) -> str:
    """Draw one bar, divided by how many runs there are of each kind."""
    total, at, parts = sum(kinds.values()), 0.0, []
    for kind, count in kinds.items():
        width = 100 * count / total
        title = f"{kind}: {count} of {total} ({percent(count, total)})"
        parts.append(
            f'<rect class="{kind_class(kind)}" x="{at:.3f}%" y="0" width="{width:.3f}%" height="{height}">'
            f"<title>{marked(title)}</title></rect>"
        )
        at += width
    label = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    return f'<svg role="img" aria-label="{marked(label)}" height="{height}">{"".join(parts)}</svg>'


def meter(share: float, *, css: str = "fill", label: str = "") -> str:
    """Draw a bar that is filled by a share of 1."""
    width = 100 * min(max(share, 0.0), 1.0)
    return (
        f'<svg role="img" aria-label="{marked(label)}" height="10">'
        '<rect class="track" width="100%" height="10" rx="2"/>'
        f'<rect class="{css}" width="{width:.3f}%" height="10" rx="2"/></svg>'
    )


def columns(trend: Sequence[TrendBucket], kinds: Iterable[str]) -> str:
    """Draw a column for each bucket of a trend, divided by kind, with lines and dates to read it by."""
    order = list(kinds)
    top = _ceiling(max(sum(bucket.counts.values()) for bucket in trend))
    place = min(100 / len(trend), _WIDEST)
    values = (0, top // 2, top)
    parts = [_line(_y(value, top)) for value in values]
    for number, bucket in enumerate(trend):
        base = 0
        for kind in order:
            if not (count := bucket.counts.get(kind, 0)):
                continue
            y, height = _y(base + count, top), _HEIGHT * count / top
            parts.append(
                f'<rect class="{kind_class(kind)}" x="{(number + _GAP / 2) * place:.3f}%" y="{y:.2f}" '
                f'width="{place * (1 - _GAP):.3f}%" height="{height:.2f}">'
                f"<title>{marked(f'{bucket.label}: {count} {kind}')}</title></rect>"
            )
            base += count
    parts += _dates(trend, place)
    height, runs = _TOP + _HEIGHT + _BELOW, sum(sum(bucket.counts.values()) for bucket in trend)
    label = f"{runs} runs from {trend[0].label} to {trend[-1].label}"
    marks = "".join(f'<text x="100%" y="{_y(value, top) + 4:.2f}" text-anchor="end">{value}</text>' for value in values)
    size = f'width="{7 * len(str(top))}" height="{height}"'
    return (
        f'<div class="chart"><svg class="axis" aria-hidden="true" {size}>{marks}</svg>'
        f'<svg role="img" aria-label="{marked(label)}" height="{height}">{"".join(parts)}</svg></div>'
    )


def _line(y: float) -> str:
    return f'<line class="grid" x1="0" x2="100%" y1="{y:.2f}" y2="{y:.2f}"/>'


def _dates(trend: Sequence[TrendBucket], place: float) -> list[str]:
    """Write the dates of the first and the last column, and of the middle where there is space."""
    y, last, narrow = _TOP + _HEIGHT + 15, len(trend) - 1, len(trend) * place < 50
    found = [f'<text x="0" y="{y}">{marked(trend[0].label)}</text>']
    if last and not narrow:
        found.append(
            f'<text x="{len(trend) * place:.3f}%" y="{y}" text-anchor="end">{marked(trend[last].label)}</text>'
        )
    if last >= 8 and not narrow:
        at = (last // 2 + 0.5) * place
        found.append(
            f'<text class="wide" x="{at:.3f}%" y="{y}" text-anchor="middle">{marked(trend[last // 2].label)}</text>'
        )
    return found


def _y(value: int, top: int) -> float:
    return _TOP + _HEIGHT * (1 - value / top)


def _ceiling(most: int) -> int:
    """Return an even number that people can halve, and that is not much larger: 2, 4, 10, 20, 50 ..."""
    size = 1
    while True:
        for step in (2, 4, 6, 8, 10):
            if step * size >= most:
                return step * size
        size *= 10


__all__ = ["columns", "meter", "split_bar"]
