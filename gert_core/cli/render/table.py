"""Format rows as a table: a bold header, aligned columns, one of them coloured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gert_core.cli.render.terminal import coloured, paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, column: int, colour: Callable[[str], str]
) -> Iterator[str]:
    """Yield the lines; ``colour`` returns the style for a cell of ``column``."""
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    line = "  ".join(f"{{:<{width}}}" for width in widths).format
    yield paint(line(*header).rstrip(), "bold")
    painted = coloured(sys.stdout)  # asked once: there may be thousands of rows
    for row in rows:
        cells = list(row)
        if painted:
            cells[column] = paint(f"{row[column]:<{widths[column]}}", colour(row[column]))
        yield line(*cells).rstrip()


__all__ = ["table"]
