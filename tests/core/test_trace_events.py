"""Every event the core writes is documented, once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from gert_core.trace.events import CORE_EVENTS, timestamp

DOC = Path(__file__).parents[2] / "docs" / "reference" / "events.md"


def test_every_core_event_has_a_heading() -> None:
    headings = re.findall(r"^### `(\w+)`$", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert set(headings) >= CORE_EVENTS


def test_timestamps_are_utc_with_microseconds() -> None:
    assert timestamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02T03:04:05.000000Z"
    east = timezone(timedelta(hours=2))
    assert timestamp(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=east)) == "2026-01-02T01:04:05.000006Z"
