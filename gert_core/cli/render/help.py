"""Lay out help for the width of the terminal: side by side where there is room, else one below the other."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WIDEST: Final = 80
_NARROW: Final = 60
_NARROWEST: Final = 24
_INDENT: Final = 2
_BELOW: Final = 6
_TYPE: Final = re.compile(r" <[^>]*>$")


def help_width() -> int:
    """Return the number of columns for help: those of the terminal, up to 80."""
    return max(min(columns(), _WIDEST), _NARROWEST)


def columns() -> int:
    """Return the width of the terminal, as ``shutil.get_terminal_size`` does, which takes longer to import."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(1).columns or _WIDEST
    except OSError:
        return _WIDEST


def is_narrow(width: int) -> bool:
    """Return whether descriptions have no room beside the names they belong to."""
    return width < _NARROW


def definitions(rows: Sequence[tuple[str, str]], *, width: int, column: int = 0) -> list[str]:
    """Return names with their descriptions, wrapped; ``column`` is the least width of the names."""
    if is_narrow(width):
        return [line for name, text in rows for line in _below(name, text, width)]
    first = max((column, *(len(name) for name, _ in rows))) + _INDENT
    out = []
    for name, text in rows:
        lines = wrap(text, width - _INDENT - first) or [""]
        out.append(f"{'':{_INDENT}}{name:<{first}}{lines[0]}".rstrip())
        out += [f"{'':{_INDENT + first}}{line}" for line in lines[1:]]
    return out


def examples(found: Iterable[tuple[str, str]], *, width: int | None = None) -> list[str]:
    """Return what to type with comments, aligned; in a narrow terminal each comment above, and long lines continued."""
    pairs = list(found)
    if width is None or not is_narrow(width):
        longest = max((len(typed) for typed, _ in pairs), default=0)
        return [f"{typed:<{longest}}  # {why}" for typed, why in pairs]
    lines = []
    for typed, why in pairs:
        lines += [f"# {line}" for line in wrap(why, width - 2 * _INDENT - len("# "))]
        first, *more = wrap(typed, width - 2 * _INDENT - len(" \\") - _INDENT)
        parts = [first, *(f"{'':{_INDENT}}{part}" for part in more)]
        lines += [*(f"{part} \\" for part in parts[:-1]), parts[-1]]
    return lines


def wrap(text: str, width: int) -> list[str]:
    """Return text as lines of at most ``width`` columns; a word is never divided."""
    import textwrap

    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)


def fit(command: Any, width: int) -> None:
    """Make a Typer command, and those below it, lay out their help for a terminal of this width."""
    formatter = command.context_class.formatter_class

    class Formatter(formatter):  # type: ignore[misc, valid-type]
        """Writes lists of names and descriptions for a narrow terminal, and no Python types."""

        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            first, *more = wrap(f"{prefix or 'Usage: '}{prog} {args}", width - _BELOW)
            self.write("".join(f"{line}\n" for line in (first, *(f"{'':{_BELOW}}{line}" for line in more))))

        def write_dl(self, rows: Sequence[tuple[str, str]], *given: Any, **named: Any) -> None:
            clean = [(_TYPE.sub("", name), text) for name, text in rows]
            if not is_narrow(width):
                super().write_dl(clean, *given, **named)
                return
            self.write("".join(f"{line}\n" for line in definitions(clean, width=width)))

    context = type("Context", (command.context_class,), {"formatter_class": Formatter})
    for each in (command, *getattr(command, "commands", {}).values()):
        each.context_class = context
        each.context_settings = {**each.context_settings, "terminal_width": width - _INDENT}


def _below(name: str, text: str, width: int) -> list[str]:
    return [f"{'':{_INDENT}}{name}", *(f"{'':{_BELOW}}{line}" for line in wrap(text, width - _BELOW))]


__all__ = ["columns", "definitions", "examples", "fit", "help_width", "is_narrow", "wrap"]
