"""Pass written events to trace observers: on one thread, in order; a failing observer is dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.events import TraceEvent
from gert_core.kit.log import warning
from gert_core.plugin.printing import aside
from gert_core.trace.reader import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

Observer = Callable[[TraceEvent], Any]
_CLOSE_TIMEOUT: Final = 5.0


class Observers:
    """The observers of one run, called with lines already written; they never delay or stop the run."""

    def __init__(self, observers: Sequence[tuple[str, Observer]], *, mask: Callable[[str], str] = str) -> None:
        self._observers = list(observers)
        self._mask = mask
        self._queue: SimpleQueue[list[bytes] | Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="gert-observers", daemon=True)
        try:
            self._thread.start()
        except (RuntimeError, MemoryError):  # called in the thread of a step, they could delay or stop the run
            names = ", ".join(name for name, _ in self._observers)
            warning("trace", "trace observers are dropped because no thread can be started: %s", names)
            self._observers.clear()

    def put(self, lines: list[bytes]) -> None:
        """Queue written lines, in the order of the trace."""
        if self._observers:
            self._queue.put(lines)

    def tell(self, fn: Callable[[], None]) -> None:
        """Queue a call behind the lines so far; what it raises is dropped."""
        if self._thread.ident is not None:
            self._queue.put(fn)

    def close(self) -> None:
        """Wait a few seconds until the observers have processed what is queued."""
        self._queue.put(None)
        if self._thread.ident is None:
            return
        self._thread.join(_CLOSE_TIMEOUT)
        if self._thread.is_alive():
            warning("trace", "a trace observer did not finish within %.0f s and was abandoned", _CLOSE_TIMEOUT)

    def _serve(self) -> None:
        with aside():
            while (queued := self._queue.get()) is not None:
                if callable(queued):
                    with suppress(Exception):
                        queued()
                    continue
                for line in queued:
                    if self._observers:
                        self._notify(decode(line))

    def _notify(self, event: TraceEvent) -> None:
        for entry in tuple(self._observers):
            try:
                entry[1](event)
            except BaseException as error:  # a plugin may raise anything and exit, and the others are told
                self._observers.remove(entry)
                warning("trace", "trace observer %s failed and was dropped: %s", entry[0], self._mask(repr(error)))


__all__ = ["Observer", "Observers"]
