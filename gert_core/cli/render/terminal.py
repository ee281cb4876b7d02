"""Write to the terminal: results on stdout, everything else on stderr, colour where the stream supports it."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final

from gert_core.kit import escaping

if TYPE_CHECKING:
    from typing import TextIO

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_CODES: Final = "|".join(("0", *_STYLES.values()))
COLOUR: Final = ("auto", "always", "never")
"""The values of ``--color``."""
_chosen: list[str | None] = []
"""What ``--color`` says in this process, if it says anything."""
_ASCII: Final = str.maketrans(
    {
        "✓": "+",
        "✗": "x",
        "○": "o",
        "→": ">",
        "▸": ">",
        "▲": "^",
        "·": ".",
        "…": "...",
        "█": "#",
        "░": "-",
        "↺": "~",
        "↩": "<-",
        "†": "!",
        "├": "|",
        "└": "`",
        "│": "|",
        "─": "-",
        "◇": "<>",
        "‖": "||",
        "▣": "[]",
        "■": "(.)",
    }
)
"""What is written instead of gert's own marks where the encoding does not have them."""
_LAYOUT: Final = str.maketrans("", "", "\n\t")


def out(text: str = "") -> None:
    """Print one result line (or several) on stdout."""
    _write(sys.stdout, text)


def err(text: str = "") -> None:
    """Print a line for people on stderr; where that is impossible it is dropped."""
    try:
        _write(sys.stderr, text)
    except OSError:
        silence("stderr")


def flush() -> None:
    """Flush both streams; what cannot be written is dropped, so that Python does not fail with it when it ends."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            silence(name)


def silence(name: str) -> None:
    """Redirect ``stdout`` or ``stderr`` to the null device: its reader has gone, or it is full."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, getattr(sys, name).fileno())
    except (OSError, ValueError):
        setattr(sys, name, None)  # the stream has no descriptor (a test's buffer)


def choose_colour(when: str | None) -> None:
    """Let ``--color`` decide about colour in this command; None and ``auto``: the environment and the stream do."""
    _chosen[:] = [when] if when in ("always", "never") else []


def coloured(stream: TextIO) -> bool:
    """Return whether to use colour on a stream: by ``--color``, ``NO_COLOR``, ``FORCE_COLOR``, else on a terminal."""
    if _chosen:
        return _chosen == ["always"]
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """Return ``text`` in the given styles (``bold dim red green yellow cyan``), or unchanged without colour."""
    if not styles or not coloured(stream or sys.stdout):
        return text
    codes = ";".join(_STYLES[style] for style in styles)
    return f"\x1b[{codes}m{text}\x1b[0m"


def escape(value: object, *, keep: str = "") -> str:
    """Return a value as text in which every character is visible, except those in ``keep``."""
    return escaping.escape(str(value), keep=keep)


def escape_output(text: str, *, colour: bool) -> str:
    """Escape everything in output but text, line ends, tabs and, with ``colour``, what ``paint`` adds.

    The escapes are those of JSON, so that a JSON document stays the same document.
    """
    if escaping.is_visible(text.translate(_LAYOUT)):
        return text
    parts = re.split(rf"(\x1b\[(?:{_CODES})(?:;(?:{_CODES}))*m)", text) if colour else [text]
    return "".join(part if number % 2 else escape(part, keep="\n\t") for number, part in enumerate(parts))


def write_text(stream: TextIO, text: str) -> None:
    """Write text to a stream; a character that its encoding does not have is replaced."""
    text = escaping.without_commands(text)
    if (stream.encoding or "utf-8").lower() != "utf-8":  # standard error would not refuse it, but spell it out
        text = spelled(text, stream)
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(spelled(text, stream))


def spelled(text: str, stream: TextIO) -> str:
    """Return text as a stream can show it: marks of gert in ASCII, and other characters replaced."""
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def _write(stream: TextIO, text: str) -> None:
    write_text(stream, f"{escape_output(text, colour=coloured(stream))}\n")


__all__ = [
    "COLOUR",
    "choose_colour",
    "coloured",
    "err",
    "escape",
    "escape_output",
    "flush",
    "out",
    "paint",
    "silence",
    "spelled",
    "write_text",
]
