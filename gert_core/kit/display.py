"""Format step keys, times and values for people."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote

from gert_core.kit.times import parse_time

_ITEM: Final = r"\[([^\]]*)\]"
_UNITS: Final = ((86400, "day", 172800), (3600, "hour", 7200), (60, "minute", 60), (1, "second", 0))
"""Seconds of a unit, its name, and from how many seconds on it is used."""
_LINE: Final = 100


def readable_key(key: str) -> str:
    """Return a step key with its items as they were given, such as ``check[web/1]`` for ``check[web%2F1]``.

    It may contain any character: escape it before it is printed.
    """
    return re.sub(_ITEM, lambda match: f"[{unquote(match[1])}]", key) if "%" in key else key


def readable_time(text: str, *, now: datetime | None = None, clock: bool = True) -> str:
    """Return an RFC 3339 time as people say it, such as ``in 30 minutes, at 16:05 CEST``; other text unchanged.

    The clock is the local one, its date is added when it is not today's; without ``clock`` only the distance is said.
    """
    try:
        moment = parse_time(text).astimezone()
    except ValueError:
        return text
    present = (now or datetime.now(UTC)).astimezone()
    distance = _distance((moment - present).total_seconds())
    day = "" if moment.date() == present.date() else f"{moment:%Y-%m-%d} "
    return f"{distance}, at {day}{moment:%H:%M %Z}" if clock else distance


def value_lines(value: object, *, width: int | None = None) -> list[str]:
    """Return a value as the lines to show: text line by line, a long map or list entry by entry.

    With ``width``, lines that are longer continue in the next one; no character is left out.
    """
    if isinstance(value, str):
        lines = value.split("\n")
        if len(lines) > 1 and not lines[-1]:
            lines.pop()
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
        if len(text) > (width or _LINE):
            text = json.dumps(value, ensure_ascii=False, default=str, indent=2)
        lines = text.split("\n")
    if width is None:
        return lines
    return [part for line in lines for part in _wrap(line, width)]


def _wrap(line: str, width: int) -> list[str]:
    """Return a line in parts, divided behind a blank where there is one; together they are the line."""
    parts = []
    while len(line) > width:
        end = line.rfind(" ", 0, width) + 1
        end = end if end > width // 2 else width
        parts.append(line[:end])
        line = line[end:]
    return [*parts, line]


def _distance(seconds: float) -> str:
    whole = round(abs(seconds))
    size, name = next((size, name) for size, name, least in _UNITS if whole >= least)
    count = round(whole / size)
    words = f"{count} {name}{'' if count == 1 else 's'}"
    return f"in {words}" if seconds >= 0 else f"{words} ago"


__all__ = ["readable_key", "readable_time", "value_lines"]
