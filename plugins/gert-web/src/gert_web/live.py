"""Follow runs for many browsers: each run is read once, and what it tells goes to everybody who looks at it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread
from sse_starlette import ServerSentEvent

from gert_core.api import GertError
from gert_core.hosting import Deadline, Stop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from gert_core.api import TraceEvent
    from gert_core.hosting import Host

    Message = tuple[int, bytes]

KEPT: Final = 2048
"""How many of the last events of a run are kept for those who come late."""
WAITING: Final = 4096
"""How many events wait for a browser that is slow; one that is slower is sent away, and comes back for the rest."""
RUNS: Final = 128
"""How many runs are followed at once."""
END: Final = ServerSentEvent("{}", event="end").encode()


class CrowdedError(Exception):
    """Too many runs or browsers are followed at once."""


class _Watched:
    """One run that is followed in a thread, and those who are told."""

    def __init__(self, host: Host, run_id: str, after: int) -> None:
        self.run_id = run_id
        self.first = after
        """The number of the event before the first that is kept."""
        self.kept: deque[Message] = deque(maxlen=KEPT)
        self.told: set[asyncio.Queue[Message | None]] = set()
        self.over = False
        self._host = host
        self._loop = asyncio.get_running_loop()
        self.stop = Stop()
        name = f"gert-web-{run_id}"
        threading.Thread(target=self._follow, args=(after,), name=name, daemon=True).start()

    def _follow(self, after: int) -> None:
        try:
            for event in self._host.follow(self.run_id, after=after, deadline=Deadline(self.stop)):
                self._call(self._tell, (event.seq, message(event)))
        except GertError:  # its run was deleted, or cannot be read any more: its page says so
            pass
        finally:
            self._call(self._end)

    def _call(self, called: Callable[..., None], *given: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(called, *given)
        except RuntimeError:  # the server ended meanwhile
            self.stop.throw("the server ended")

    def _tell(self, one: Message) -> None:
        if len(self.kept) == KEPT:
            self.first = self.kept[0][0]
        self.kept.append(one)
        for queue in list(self.told):
            self._give(queue, one)

    def _end(self) -> None:
        self.over = True
        for queue in list(self.told):
            self._give(queue, None)

    def _give(self, queue: asyncio.Queue[Message | None], one: Message | None) -> None:
        try:
            queue.put_nowait(one)
        except asyncio.QueueFull:
            self.told.discard(queue)
            queue.get_nowait()
            queue.put_nowait(None)


class LiveRuns:
    """The runs that browsers look at now; used in the thread of the loop only."""

    def __init__(self, host: Host, *, clients: int) -> None:
        self._host = host
        self._clients = clients
        self._open = 0
        self._runs: dict[str, _Watched] = {}

    @property
    def watching(self) -> int:
        """How many browsers look now."""
        return self._open

    def check(self, run_id: str) -> None:
        """Raise ``CrowdedError`` when no more can be followed."""
        if self._open >= self._clients or (run_id not in self._runs and len(self._runs) >= RUNS):
            raise CrowdedError

    async def events(self, run_id: str, after: int) -> AsyncGenerator[bytes, None]:
        """Yield the events of a run behind a number as they come, as messages; an ``end`` is the last."""
        self._open += 1
        watched = self._runs.get(run_id)
        if watched is None or watched.over:
            watched = self._runs[run_id] = _Watched(self._host, run_id, after)
        queue: asyncio.Queue[Message | None] = asyncio.Queue(WAITING)
        watched.told.add(queue)
        try:
            seen = after
            for number, data in [one for one in await self._missed(watched, after) if one[0] > after]:
                seen = number
                yield data
            if watched.over and queue.empty():
                yield END
                return
            while (one := await queue.get()) is not None:
                if one[0] > seen:
                    seen = one[0]
                    yield one[1]
            if watched.over:
                yield END
        finally:
            self._open -= 1
            watched.told.discard(queue)
            if not watched.told:
                watched.stop.throw("no browser follows it any more")
                if self._runs.get(run_id) is watched:
                    del self._runs[run_id]

    async def _missed(self, watched: _Watched, after: int) -> Iterable[Message]:
        """Return what came before somebody joined: from memory, or read for those who are far behind."""
        if after >= watched.first:
            return list(watched.kept)
        return await to_thread.run_sync(self._read, watched.run_id, after)

    def _read(self, run_id: str, after: int) -> list[Message]:
        return [(event.seq, message(event)) for event in self._host.events(run_id, after=after)]

    def close(self) -> None:
        """Follow nothing any more."""
        for watched in self._runs.values():
            watched.stop.throw("the server ends")


def message(event: TraceEvent) -> bytes:
    """Return an event of a trace as browsers read it."""
    data = {"type": event.type, "timestamp": event.timestamp, "seq": event.seq, "step_key": event.step_key}
    text = json.dumps({**data, "data": event.data}, default=str)
    return ServerSentEvent(text, event="trace", id=str(event.seq)).encode()


__all__ = ["CrowdedError", "LiveRuns", "message"]
