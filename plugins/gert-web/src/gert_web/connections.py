"""Bound what connections cost: how many there are, how long one may be silent, and what is said about too many."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

HEADERS: Final = 10.0
"""Seconds in which the head of a request must have come."""
_SILENT: Final = 60.0
"""Seconds in which too many connections are said once."""
_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Crowd:
    """Too many connections, told in a sentence that is not said for each of them."""

    def __init__(self, most: int, tell: Callable[[str], None]) -> None:
        self.most = most
        self._tell = tell
        self._told: float | None = None

    def refused(self) -> None:
        """Say that a connection was not taken, unless that was said a moment ago."""
        now = time.monotonic()
        if self._told is None or now - self._told > _SILENT:
            self._told = now
            self._tell("there are more connections than can be open at once, and some are refused: raise `ulimit -n`")

    def on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Take an error of the loop: one of a connection that no descriptor is left for is a sentence."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _FULL:
            self.refused()
        else:
            loop.default_exception_handler(context)


def protocol(crowd: Crowd) -> type[H11Protocol]:
    """Return the protocol that serves connections, and closes those that are too many or send no request."""

    class Bounded(H11Protocol):
        """A connection whose requests have to begin in time."""

        _due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > crowd.most:
                crowd.refused()
                transport.abort()
            else:
                self._due = self.loop.call_later(HEADERS, transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._came()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._came()
            elif self._due is None:
                self._due = self.loop.call_later(HEADERS, self.transport.close)

        def _came(self) -> None:
            if self._due is not None:
                self._due.cancel()
                self._due = None

    return Bounded


__all__ = ["HEADERS", "Crowd", "protocol"]
