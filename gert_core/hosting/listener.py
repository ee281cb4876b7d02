"""Turn what happens in a run into notices: events of its trace, calls, output, loops and approval requests."""

from __future__ import annotations

import threading
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, Protocol

from gert_core.api.events import EventType
from gert_core.engine.known_secrets import hide
from gert_core.engine.progress import Progress
from gert_core.secrets.live import LiveMask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api import ApprovalRequest, StepStatus, TraceEvent
    from gert_core.engine.progress import CallWatcher, StepInfo
    from gert_core.engine.run import Run
    from gert_core.hosting.pulse import Pulse

_LOOPS: Final = 0.1
"""The least seconds between two notices of one loop."""
_ENDS_OF_TICKETS: Final = (EventType.APPROVAL_RESOLVED, EventType.APPROVAL_VOID)


class NoticeSink(Protocol):
    """Who is given the notices of a run: they are kept for a host, or written as lines."""

    watched: bool
    """Whether anybody is told of notices now."""

    def add(self, kind: str, data: Mapping[str, Any], *, step_key: str | None = None) -> None:
        """Add a notice; nothing comes after ``end``."""

    def add_event(self, event: TraceEvent) -> None:
        """Add the notice of an event of the trace."""


class HostProgress(Progress):
    """The listener of a hosted run.

    Everything goes through the queue of the run's observers, so that the ``step_start`` of a step comes before what
    its tool writes; before the trace is open, notices are made at once.
    """

    def __init__(
        self,
        notices: NoticeSink,
        pulse: Pulse,
        *,
        named: Callable[[str], None],
        since_last: Callable[[ApprovalRequest], Mapping[str, Any] | None],
    ) -> None:
        self._notices = notices
        self._pulse = pulse
        self._named = named
        self._since_last = since_last
        self._run: Run | None = None
        self._lock = threading.Lock()
        self._leaves = 0
        self._idle: Callable[[], None] | None = None
        self._tickets: set[str] = set()
        self._loops: dict[str, float] = {}

    @property
    def watches(self) -> bool:  # type: ignore[override]
        """Whether anybody is told of notices now."""
        return self._notices.watched

    @property
    def leaves(self) -> int:
        """How many leaves have started and not ended."""
        return self._leaves

    def when_idle(self, fn: Callable[[], None]) -> None:
        """Call a function as soon as no leaf is executed, before the next one begins; at once if none is."""
        with self._lock:
            if self._leaves:
                self._idle = fn
                return
        fn()

    @property
    def waiting(self) -> int:
        """How many requests for approval are open."""
        return len(self._tickets)

    def begin(self, run: Run | None) -> None:
        """Take the run that is about to be executed; None when another one is being prepared."""
        with self._lock:
            self._leaves = 0
        self._run = run

    def tell(self, kind: str, data: Mapping[str, Any], *, step_key: str | None = None) -> None:
        """Make a notice, behind the events that are in the trace."""
        self._later(lambda: self._notices.add(kind, data, step_key=step_key))

    def _later(self, fn: Callable[[], None]) -> None:
        """Call a function behind the events that are in the trace; the run does not wait for it."""
        if self._run is None or not self._run.services.journal.observed:
            fn()
        else:
            self._run.services.journal.writer.tell(fn)

    def observe(self, event: TraceEvent) -> None:
        """Take an event of the trace."""
        self._notices.add_event(event)
        if event.type in _ENDS_OF_TICKETS:
            self._tickets.discard(str(event.data.get("ticket_id")))

    def mask(self, value: Any) -> Any:
        """Return a value without the secrets of the run."""
        return value if self._run is None else self._run.services.masker.mask(value)

    # -- what the engine tells -----------------------------------------------------------------------------------

    def named(self, run_id: str) -> None:
        self._named(run_id)

    def started(self, step: StepInfo) -> None:
        if step.leaf and not step.loop:
            with self._lock:
                self._leaves += 1

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, object], duration: float) -> None:
        self._ended(step)

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        self._ended(step)

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._tickets.discard(request.ticket_id)

    def calling(self, step: StepInfo, tool: str, action: str, command: Sequence[str]) -> CallWatcher | None:
        data = {"tool": tool, "action": action, "command": list(command)}
        self.tell("command", self.mask(data), step_key=step.key)
        if self._run is None:
            return None

        def emit(stream: str, text: str, partial: bool) -> None:
            data = {"stream": stream, "text": text, "partial": partial, "dropped": 0}
            self.tell("output", data, step_key=step.key)

        return LiveMask(self._run.services.masker, emit, self._pulse)

    def items(self, step: StepInfo, *, done: int, failed: int, skipped: int, total: int) -> None:
        now = time.monotonic()
        if done and done < total and now - self._loops.get(step.key, 0.0) < _LOOPS:
            return
        self._loops[step.key] = now
        if not done and self._run is not None:
            self._run.services.journal.commit()  # the start of the loop comes first
        if done == total:
            self._loops.pop(step.key, None)
        self.tell("loop", {"done": done, "failed": failed, "skipped": skipped, "total": total}, step_key=step.key)

    def submitted(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._tickets.add(request.ticket_id)

        def told() -> None:
            # What was approved before may have shown what is a secret by now.
            since = self._since_last(request)
            hidden = since if self._run is None else hide(self._run.services.masker, since)
            # A copy, all the way down: what listeners do with it is not done to what is approved.
            data = {"request": deepcopy(request.to_json()), "since_last": hidden}
            self._notices.add("approval", data, step_key=step.key)

        self._later(told)

    def arm(self, step: StepInfo, name: str, why: str) -> None:
        self.tell("arm", self.mask({"name": name, "why": why}), step_key=step.key)

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        self.tell("warning", self.mask({"message": message}), step_key=None if step is None else step.key)

    def _ended(self, step: StepInfo) -> None:
        if step.leaf and not step.loop:
            with self._lock:
                self._leaves = max(self._leaves - 1, 0)
                idle = None if self._leaves else self._idle
                if idle is not None:
                    self._idle = None
            if idle is not None:
                idle()


__all__ = ["HostProgress", "NoticeSink"]
