"""Writing to the terminal: results on stdout, everything else on stderr, colour only where it is welcome."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def out(text: str = "") -> None:
    """Print one result line (or several) on stdout."""
    _write(sys.stdout, text)


def err(text: str = "") -> None:
    """Print a line for people on stderr."""
    _write(sys.stderr, text)


def coloured(stream: TextIO) -> bool:
    """Whether a stream wants colour: a terminal, and neither ``NO_COLOR`` nor ``TERM=dumb``."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """``text`` in the given styles (``bold dim red green yellow cyan``), or unchanged without colour."""
    if not styles or not coloured(stream or sys.stdout):
        return text
    codes = ";".join(_STYLES[style] for style in styles)
    return f"\x1b[{codes}m{text}\x1b[0m"


def _write(stream: TextIO, text: str) -> None:
    line = f"{text}\n"
    try:
        stream.write(line)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(line.encode(encoding, "replace").decode(encoding))


__all__ = ["coloured", "err", "out", "paint"]
