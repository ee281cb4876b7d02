"""Colours and ages of runs, for lists and for single ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.runs.document import age

if TYPE_CHECKING:
    from datetime import datetime

_COLOURS: Final = {
    "completed": "green",
    "success": "green",
    "running": "cyan",
    "queued": "cyan",
    "skipped": "dim",
    "open": "dim",
    "approval_pending": "yellow",
    "answer_pending": "yellow",
    "blocked": "yellow",
    "interrupted": "yellow",
}


def colour(status: str) -> str:
    """Return the style for a status of a run or a step."""
    return _COLOURS.get(status, "red")


def ago(started: str | None, *, now: datetime | None = None) -> str:
    """Return the time since a moment in its largest unit: ``3d``, ``5h``, ``12m``, ``40s``."""
    seconds = age(started, now=now)
    if seconds is None:
        return "unknown"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(max(seconds, 0))}s"


__all__ = ["age", "ago", "colour"]
