"""Writes a run's events in the shape of the trace, and on resume does not write them twice."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Principal
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.trace.writer import TraceWriter

SYSTEM: Final = {"kind": "system", "id": "kernel"}


class Journal:
    """The engine's side of the trace: adds branch facts, skips what an earlier process already wrote.

    An event recorded for (key, type, n-th) is compared and not written again; a difference means that the
    resumed run took another way, and the run stops before anything executes.
    """

    __slots__ = ("_counts", "_lock", "_recorded", "writer")

    def __init__(self, writer: TraceWriter, recorded: Recorded | None = None) -> None:
        self.writer = writer
        self._recorded = recorded
        self._counts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def add(
        self,
        type: str,  # noqa: A002 - the event's field name
        data: Mapping[str, Any],
        *,
        key: str | None = None,
        principal: Principal | None = None,
        branch: Mapping[str, Any] | None = None,
        encoded: bytes | None = None,
        fresh: bool = False,
    ) -> None:
        """Add one event of a step (or, without a key, of the run); ``fresh`` ones cannot be recorded before."""
        if branch is not None:
            if encoded is not None:
                encoded = encoded[:-1] + b',"branch":' + self.writer.encode(branch) + b"}"
            else:
                data = {**data, "branch": branch}
        if self._recorded is not None and key is not None and not fresh and self._known(type, key, data, encoded):
            return
        self.writer.add(
            type,
            data,
            step_key=key,
            principal=principal.to_json() if principal is not None else SYSTEM,
            encoded=encoded,
        )

    def _known(self, type: str, key: str, data: Mapping[str, Any], encoded: bytes | None) -> bool:  # noqa: A002
        assert self._recorded is not None  # noqa: S101 - asked by the caller
        with self._lock:
            number = self._counts.get((key, type), 0)
            self._counts[key, type] = number + 1
        before = self._recorded.event(key, type, number)
        if before is None:
            return False
        now = json.loads(encoded if encoded is not None else self.writer.encode(data))
        if self._recorded.comparable(type, before) != self._recorded.comparable(type, now):
            raise RunError(
                f"the resumed run does not follow its trace: {type} of step {key} would differ",
                kind="resume_diverged",
                hint="a condition now has another answer than it had; start a new run",
            )
        return True

    def commit(self) -> None:
        """Write the group."""
        self.writer.commit()

    def sync(self) -> None:
        """Write the group and put it on disk."""
        self.writer.sync()


__all__ = ["SYSTEM", "Journal"]
