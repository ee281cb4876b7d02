"""A trace that nobody will read: events are encoded as always, so that what is no JSON is noticed, and dropped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.secrets import Masker


class UnkeptTrace(TraceWriter):
    """Stands in for the writer when scenarios are tested: no file, no chain, no observer, no signature."""

    def __init__(self, *, run_id: str, masker: Masker | None = None) -> None:
        self.path = Path(os.devnull)
        self.run_id = run_id
        self._masker = masker
        self._seq = 0

    def add(
        self,
        type: str,  # noqa: A002 - the event's field name
        data: Mapping[str, Any],
        *,
        step_key: str | None = None,
        principal: Mapping[str, Any] | None = None,
        encoded: bytes | None = None,
    ) -> None:
        """Encode the data and count the event."""
        if encoded is None:
            self.encode(data)
        self._seq += 1

    def close_run(self, type: str, data: Mapping[str, Any]) -> None:  # noqa: A002 - the event's field name
        """The last event."""
        self.add(type, data)

    def commit(self) -> None:
        """Nothing is written."""

    def sync(self) -> None:
        """Nothing is on disk."""

    def close(self) -> None:
        """Nothing is open."""


__all__ = ["UnkeptTrace"]
