"""Bring what happens in a run from the host's threads to a screen: in order, and without the run waiting for it."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from gert_core.api import GertError
from gert_core.hosting import Deadline, Notice, Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import TraceEvent
    from gert_core.hosting import Host


class Feed:
    """The notices of a run that a screen has not taken yet."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque()
        self._lock = threading.Lock()
        self._wake: Callable[[], Any] | None = None
        self._woken = False

    def put(self, notice: Notice) -> None:
        """Add a notice, from any thread; the screen is woken once for all that come until it looks."""
        with self._lock:
            self._notices.append(notice)
            wake = self._wake if not self._woken else None
            self._woken = self._woken or wake is not None
        if wake is not None:
            wake()

    def connect(self, wake: Callable[[], Any]) -> None:
        """Call ``wake`` when there is something to take, now included."""
        with self._lock:
            self._wake = wake
            self._woken = True
        wake()

    def take(self, most: int) -> list[Notice]:
        """Return the next notices; what is left wakes the screen again."""
        with self._lock:
            found = [self._notices.popleft() for _ in range(min(most, len(self._notices)))]
            wake = self._wake if self._notices else None
            self._woken = wake is not None
        if wake is not None:
            wake()
        return found


class Follower:
    """Follows a run that another process executes, or that is over, in a thread of its own."""

    def __init__(self, host: Host, run_id: str, feed: Feed, *, after: int = 0) -> None:
        self._host = host
        self._run_id = run_id
        self._feed = feed
        self._after = after
        self._stop = Stop()
        self.thread = threading.Thread(target=self._follow, name="gert-follow", daemon=True)

    def start(self) -> Follower:
        """Begin, and return itself."""
        self.thread.start()
        return self

    def close(self) -> None:
        """Follow no longer."""
        self._stop.throw("the screen was left")

    def _follow(self) -> None:
        try:
            for event in self._host.follow(self._run_id, after=self._after, deadline=Deadline(self._stop)):
                if self._stop.thrown:
                    return
                self._feed.put(self._notice(event))
            view = self._host.run(self._run_id)
            end = {"result": view.to_json()}
        except GertError as error:
            end = {"error": error.to_json()}
        if not self._stop.thrown:
            self._feed.put(Notice(number=0, time="", run_id=self._run_id, kind="end", data=end))

    def _notice(self, event: TraceEvent) -> Notice:
        data = {"type": event.type, "timestamp": event.timestamp, "seq": event.seq, "data": event.data}
        if event.step_key is not None:
            data["step_key"] = event.step_key
        if event.principal is not None:
            data["principal"] = event.principal
        return Notice(
            number=event.seq,
            time=event.timestamp,
            run_id=event.run_id,
            kind="event",
            step_key=event.step_key,
            data=data,
        )


__all__ = ["Feed", "Follower"]
