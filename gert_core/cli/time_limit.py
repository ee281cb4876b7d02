"""End work that takes too long, whatever it is blocked in, by an alarm in the main thread."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Final

from gert_core.plugin.ctrl_c import EndOfWork

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN: Final = 0.5
"""Seconds until the alarm rings again, in case something swallowed it."""


class TimeUp(EndOfWork):
    """The time limit is exceeded; which no handler around the code of a plugin catches."""


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise ``TimeUp`` in the block when it takes longer; without limit outside the main thread."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        del number, frame
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


__all__ = ["TimeUp", "time_limit"]
