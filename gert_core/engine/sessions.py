"""Long-lived peers of a run: opened once per name, closed by the core at the end, at suspension, or with their step."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from gert_core.kit.log import debug
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.printing import inside

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.context import Closable, Peer
    from gert_core.engine.steps.execution import StepExecution

    # The key of the step that a peer serves alone, if it does, and its name.
    _Place = tuple[str | None, str]


class Sessions:
    """The long-lived peers of a run, each opened once, by the first thread that uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opening: dict[_Place, threading.Lock] = {}
        self._open: dict[_Place, Closable] = {}

    def get(self, name: str, open: Callable[[], Peer], *, step: str | None = None) -> Peer:  # noqa: A002
        """Return the peer called ``name``, opened on first use; other names do not wait while it opens.

        With the key of a ``step`` it is the one that serves this step alone, and is closed by ``leave``.
        """
        place = (step, name)
        found = self._open.get(place)
        if found is not None:
            return cast("Peer", found)
        with self._lock:
            guard = self._opening.setdefault(place, threading.Lock())
        with guard:
            if place not in self._open:
                self._open[place] = open()
            return cast("Peer", self._open[place])

    def find(self, name: str) -> Closable | None:
        """Return the peer called ``name`` that the run keeps, if it is open."""
        return self._open.get((None, name))

    def drop(self, name: str, *, step: str | None = None) -> None:
        """Close and remove a peer."""
        with self._lock:
            session = self._open.pop((step, name), None)
        if session is not None:
            _close(session)

    def leave(self, step: str) -> None:
        """Close and remove the peers that serve one step alone."""
        with self._lock:
            places = [place for place in list(self._opening) if place[0] == step]
            for place in places:
                del self._opening[place]
        for _, name in places:
            self.drop(name, step=step)

    def close(self) -> None:
        """Close every peer; one that fails to close does not keep the others open."""
        with self._lock:
            sessions, self._open = list(self._open.values()), {}
        for session in reversed(sessions):
            _close(session)


def served_alone(execution: StepExecution) -> str | None:
    """Return the key of a step that is executed under an approval, whose peers serve it alone; None for other steps.

    The approval is for the program as it is, and a peer that was started before may be that of another file.
    """
    return execution.key if execution.under_approval else None


def _close(session: Closable) -> None:
    try:
        with inside():
            session.close()
    except BaseException as error:  # a plugin may raise anything, and the run is over
        pass_on(error)
        debug("engine", "a session did not close: %r", error)


__all__ = ["Sessions", "served_alone"]
