"""Format rows as a table: a bold header, aligned columns, one of them coloured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.cli.render.terminal import paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, column: int, colour: Callable[[str], str]
) -> Iterator[str]:
    """Yield the lines; ``colour`` returns the style for a cell of ``column``."""
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    yield paint(_line(header, widths), "bold")
    for row in rows:
        cells = list(row)
        cells[column] = paint(f"{row[column]:<{widths[column]}}", colour(row[column]))
        yield _line(cells, widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


__all__ = ["table"]
