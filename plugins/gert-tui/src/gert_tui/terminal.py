"""The terminal on which the screen is: whether it can be used, how it was before, and the end when it is gone."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAVE: Final = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # no mouse
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[<u"  # no marks around what is pasted; lines that wrap; plain keys
    b"\x1b[?1049l\x1b[?25h\x1b[?1004l"  # the screen that was there before, its cursor, and no word of focus
)


def is_there() -> bool:
    """Return whether a person can see what is drawn and press keys."""
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__))


def giving_back() -> Callable[[], None]:
    """Return what makes the terminal as it is now, for a screen that does not do that itself."""
    stdin, stderr = (-1 if stream is None else stream.fileno() for stream in (sys.__stdin__, sys.__stderr__))
    attributes = None
    with suppress(termios.error):
        attributes = termios.tcgetattr(stdin)

    def give_back() -> None:
        if attributes is not None:
            with suppress(termios.error):
                termios.tcsetattr(stdin, termios.TCSANOW, attributes)
        with suppress(OSError):
            os.write(stderr, _LEAVE)

    return give_back


def end_if_gone() -> None:
    """End as with SIGHUP when the terminal is closed and that signal did not come.

    Without it a screen would go on unseen, and its input thread would read the end again and again.
    """
    if sys.__stdin__ is None or not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(sys.__stdin__.fileno(), 0)
    if any(told & (select.POLLHUP | select.POLLNVAL) for _, told in poll.poll(0)):
        hang_up()


def hang_up() -> None:
    """Send this process what it should have got when its terminal was closed; under ``nohup`` that is ignored."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGHUP)


__all__ = ["end_if_gone", "giving_back", "hang_up", "is_there"]
