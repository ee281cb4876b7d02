"""The terminal on which the screen is: whether it can be used, and the end of the process when it is gone."""

from __future__ import annotations

import select
import signal
import sys


def is_there() -> bool:
    """Return whether a person can see what is drawn and press keys."""
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__))


def end_if_gone() -> None:
    """End as SIGHUP ends a process, when the terminal is closed and that signal did not come.

    Without it a screen would go on unseen, and its input thread would read the end again and again.
    """
    if sys.__stdin__ is None or not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(sys.__stdin__.fileno(), 0)
    if any(told & (select.POLLHUP | select.POLLNVAL) for _, told in poll.poll(0)):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGHUP)


__all__ = ["end_if_gone", "is_there"]
