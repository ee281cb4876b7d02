"""Read a trace file as events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gert_core.api.errors import TraceError
from gert_core.api.events import TraceEvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def decode(line: bytes) -> TraceEvent:
    """Decode one line as an event; raise ``ValueError`` when it is not one."""
    try:
        raw = json.loads(line)
        return TraceEvent(
            type=raw["type"],
            timestamp=raw["timestamp"],
            run_id=raw["run_id"],
            seq=raw["seq"],
            prev_hash=raw["prev_hash"],
            data=raw["data"],
            step_key=raw.get("step_key"),
            principal=raw.get("principal"),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a valid trace event: {error}") from None


def read(path: Path) -> Iterator[TraceEvent]:
    """Yield the events of a trace without a torn end (no newline, or zeros); raise on any other invalid line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n") or b"\0" in line:
                    return
                try:
                    yield decode(line)
                except ValueError as error:
                    raise TraceError(
                        f"line {number} of {path} is {error}",
                        file=str(path),
                        line=number,
                        hint="verify the trace",
                    ) from None
    except OSError as error:
        raise TraceError(f"the trace {path} cannot be read: {error.strerror}", file=str(path)) from None


__all__ = ["decode", "read"]
