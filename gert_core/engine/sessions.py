"""Long-lived peers of a run: opened once per name, closed by the core at the end and at suspension."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from gert_core.kit.log import debug
from gert_core.kit.programs import program_identity
from gert_core.plugin.printing import inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.context import Closable, Peer

    Program = Callable[[], str | None]


class Sessions:
    """The long-lived peers of a run, each opened once, by the first thread that uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Closable] = {}
        self._programs: dict[str, tuple[int, ...] | None] = {}

    def get(self, name: str, open: Callable[[], Peer], program: Program | None = None) -> Peer:  # noqa: A002
        """Return the peer called ``name``, opened on first use; other names do not wait while it opens.

        ``program`` gives the file that it is started from.
        """
        found = self._open.get(name)
        if found is not None:
            return cast("Peer", found)
        with self._lock:
            guard = self._opening.setdefault(name, threading.Lock())
        with guard:
            if name not in self._open:
                if program is not None:
                    self._programs[name] = program_identity(program())
                self._open[name] = open()
            return cast("Peer", self._open[name])

    def find(self, name: str) -> Closable | None:
        """Return the peer called ``name`` if it is open."""
        return self._open.get(name)

    def is_current(self, name: str, program: Program) -> bool:
        """Return whether a peer, if it is open, was started from the program as it is now."""
        return name not in self._open or self._programs.get(name) == program_identity(program())

    def drop(self, name: str) -> None:
        """Close and remove a peer."""
        with self._lock:
            session = self._open.pop(name, None)
        if session is not None:
            _close(session)

    def close(self) -> None:
        """Close every peer; one that fails to close does not keep the others open."""
        with self._lock:
            sessions, self._open = list(self._open.values()), {}
        for session in reversed(sessions):
            _close(session)


def _close(session: Closable) -> None:
    try:
        with inside():
            session.close()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may raise anything, and the run is over
        debug("engine", "a session did not close: %r", error)


__all__ = ["Sessions"]
