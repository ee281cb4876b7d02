"""Write a run's events to the trace; on resume compare recorded ones instead of writing them again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, Principal, RunError
from gert_core.kit.json_reader import loads
from gert_core.runs.live import ORDERED, LiveFold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.resume.recorded import Recorded
    from gert_core.runs.state import RunState
    from gert_core.trace.writer import TraceWriter

KERNEL: Final = Principal()
"""The principal of decisions about contracts and policies, whichever principal the step has."""
SYSTEM: Final = KERNEL.to_json()
BRANCH: Final = "branch"
"""The field of events written by one of several concurrent lists: its index, label and parent."""
_BRANCH: Final = f',"{BRANCH}":'.encode()
_ORDERED: Final = frozenset(ORDERED)


def principal_of(actor: str) -> Principal:
    """Return an actor as a principal: a person, or an agent if it is called ``agent:ID``."""
    kind, colon, name = actor.partition(":")
    return Principal(kind="agent", id=name) if kind == "agent" and colon and name else Principal(kind="human", id=actor)


class Journal:
    """The engine's access to the trace: adds facts about branches, skips what an earlier process already wrote.

    An event recorded for (key, type, n-th) is compared and not written again; a difference means that the
    resumed run diverged, and the run stops before anything executes.
    """

    __slots__ = ("_counts", "_fold", "_lock", "_order", "_recorded", "_takes", "observed", "writer")

    def __init__(self, writer: TraceWriter, recorded: Recorded | None = None) -> None:
        self.writer = writer
        self.observed = writer.observed
        """Whether somebody is told of events as they are written."""
        self._recorded = recorded
        self._fold = LiveFold(writer.run_id, recorded.state if recorded is not None else None)
        self._takes = self._fold.takes
        self._counts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()
        self._order = threading.Lock()

    @property
    def state(self) -> RunState:
        """Return the state of the run after the events written so far."""
        return self._fold.state

    def add(
        self,
        type: str,  # noqa: A002 - the event's field name
        data: Mapping[str, object],
        key: str | None = None,  # by place, too: names take a third longer, and this is in every event
        principal: Principal | None = None,
        branch: Mapping[str, object] | None = None,
        encoded: bytes | None = None,
        fresh: bool = False,
    ) -> None:
        """Add one event of a step (or, without a key, of the run); ``fresh`` ones cannot be recorded already."""
        if branch is not None:
            if encoded is not None:
                encoded = encoded[:-1] + _BRANCH + self.writer.encode(branch) + b"}"
            else:
                data = {**data, BRANCH: branch}
        if self._recorded is not None and key is not None and not fresh and self._known(type, key, data, encoded):
            return
        by = SYSTEM if principal is None or principal is KERNEL else principal.to_json()
        take = self._takes.get(type)
        if take is None:
            self.writer.add(type, data, key, by, encoded)
            return
        data, encoded = self.writer.masked(data)
        if type not in _ORDERED:
            take(type, key, data, self.writer.add(type, data, key, by, encoded))
            return
        with self._order:  # else the state would list tickets of concurrent steps in another order than the trace
            take(type, key, data, self.writer.add(type, data, key, by, encoded))

    def close(self, type: str, data: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
        """Add the sealed last event of this process."""
        written = self.writer.close_run(type, data)
        self._takes[type](type, None, written, self.writer.seq)

    def _known(self, type: str, key: str, data: Mapping[str, object], encoded: bytes | None) -> bool:  # noqa: A002
        assert self._recorded is not None  # noqa: S101 - asked by the caller
        with self._lock:
            number = self._counts.get((key, type), 0)
            self._counts[key, type] = number + 1
        before = self._recorded.event(key, type, number)
        if before is None:
            return False
        now = loads(encoded if encoded is not None else self.writer.encode(data))
        if self._recorded.comparable(type, before) != self._recorded.comparable(type, now):
            hint = "a condition now has a different result; start a new run"
            if self._recorded.state.changed_by:
                hint = "it went on with other documents; start a new run, or use the recorded results: --on-drift allow"
            raise RunError(
                f"the resumed run does not follow its trace: {type} of step {key} would differ",
                kind=ErrorKind.RESUME_DIVERGED,
                hint=hint,
            )
        return True

    def commit(self) -> None:
        """Write the group."""
        self.writer.commit()

    def sync(self) -> None:
        """Write the group and sync it to disk."""
        self.writer.sync()


__all__ = ["BRANCH", "KERNEL", "SYSTEM", "Journal", "principal_of"]
