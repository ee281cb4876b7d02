"""Find recordings that are not golden and old enough to be deleted."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gert_core.api.errors import GertError
from gert_core.documents.scenario import SCENARIO_FILE, TEST_FILE, TRACE_FILE
from gert_core.kit.times import parse_time
from gert_core.scenarios.find import candidates_for, find_runbooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def old_recordings(paths: Sequence[Path], *, before: str) -> list[Path]:
    """Return the directories of recordings that are not golden, of runs that ended before a moment (RFC 3339)."""
    found = find_runbooks(paths)
    moment = parse_time(before)
    return [
        one.directory
        for runbook in found.runbooks
        for one in candidates_for(runbook, found)
        if one.recorded and not one.golden and _ended(one.directory) < moment
    ]


def why_kept(directory: Path) -> str | None:
    """Return why a recording is not deleted: it is somewhere else, or other files are beside it; else None."""
    if directory.is_symlink():
        return "is a link"
    others = sorted(
        entry.name for entry in directory.iterdir() if entry.name not in (SCENARIO_FILE, TEST_FILE, TRACE_FILE)
    )
    return f"has other files too: {', '.join(others)}" if others else None


def _ended(directory: Path) -> datetime:
    """Return when the run of a recording ended, as its trace tells, else when its scenario was written."""
    from gert_core.trace.reader import read

    try:
        (last,) = deque(read(directory / TRACE_FILE), maxlen=1)
        return parse_time(last.timestamp)
    except (GertError, OSError, ValueError):
        pass
    return datetime.fromtimestamp((directory / SCENARIO_FILE).stat().st_mtime, UTC)


__all__ = ["old_recordings", "why_kept"]
