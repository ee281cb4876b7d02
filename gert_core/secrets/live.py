"""Show what a tool writes while it writes it: masked, by lines, and not more often than people can read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol

from gert_core.secrets.streaming import MaskedStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.secrets.masker import Masker

    Emit = Callable[[str, str, bool], None]

APART: Final = 0.05
"""The least seconds between two texts of one call: twenty of them in a second."""
SILENCE: Final = 0.5
"""Seconds of silence after which a line without an end is shown as far as it goes."""


class Scheduler(Protocol):
    """Calls functions after some time, in a thread of its own."""

    def after(self, seconds: float, fn: Callable[[], None]) -> None:
        """Call ``fn`` once."""

    def now(self) -> float:
        """Return seconds that only grow."""


class LiveMask:
    """What one call of a tool writes: ``emit(stream, text, partial)`` is given masked text that ends with a line.

    A text that is ``partial`` ends within a line. What may be the beginning of a secret is held back until more is
    known, however the output is cut into parts, so the texts of a stream joined have no secret in them.
    """

    def __init__(self, masker: Masker, emit: Emit, later: Scheduler) -> None:
        self._masker = masker
        self._emit = emit
        self._later = later
        self._lock = threading.Lock()
        self._masked: dict[str, MaskedStream] = {}
        self._waiting: dict[str, str] = {}
        self._fed: dict[str, float] = {}
        self._shown = -APART
        self._called = False
        """Whether ``_show`` is going to be called."""

    def feed(self, stream: str, data: bytes) -> None:
        """Take the next bytes of a stream."""
        with self._lock:
            masked = self._masked.get(stream)
            if masked is None:
                masked = self._masked[stream] = MaskedStream(self._masker)
            text = masked.feed(data)
            if text:
                self._waiting[stream] = self._waiting.get(stream, "") + text
                self._fed[stream] = self._later.now()
            self._look()

    def close(self) -> None:
        """Show the rest; a secret that was not finished is hidden in it."""
        with self._lock:
            for stream, masked in self._masked.items():
                text = self._waiting.pop(stream, "") + masked.feed(b"", final=True)
                if text:
                    self._emit(stream, text, not text.endswith(("\n", "\r")))
            self._masked.clear()

    def _show(self) -> None:
        with self._lock:
            self._called = False
            if self._masked:
                self._look()

    def _look(self) -> None:
        """Show what is due, and come back for what is not."""
        now = self._later.now()
        due = self._shown + APART
        wake: float | None = None
        for stream, text in list(self._waiting.items()):
            end = max(text.rfind("\n"), text.rfind("\r")) + 1
            silent = self._fed[stream] + SILENCE
            when = due if end else max(due, silent)
            if when > now:
                wake = when if wake is None else min(wake, when)
                continue
            if now >= silent:
                end = len(text)
            self._emit(stream, text[:end], not text[:end].endswith(("\n", "\r")))
            self._shown, due = now, now + APART
            if text[end:]:
                self._waiting[stream] = text[end:]
                wake = max(due, silent) if wake is None else min(wake, max(due, silent))
            else:
                del self._waiting[stream]
        if wake is not None and not self._called:
            self._called = True
            self._later.after(max(wake - now, 0.0), self._show)


__all__ = ["APART", "SILENCE", "LiveMask", "Scheduler"]
