"""Tell Ctrl-C from a ``KeyboardInterrupt`` that a plugin raises by itself, which is a fault like any other.

A plugin that may end a command as if a person had would also end it unnamed, and a run without its end. So the command
line handles SIGINT by ``raise_interrupt`` and not by Python's own handler, which leaves no mark. A program that uses
gert as a library handles signals as it likes: whatever is raised in its main thread is passed on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Final, NoReturn
else:
    import _signal as signal  # built in; the command line imports this before it can be interrupted


class EndOfWork(KeyboardInterrupt):
    """An interrupt that gert raises itself: it ends the code of a plugin as Ctrl-C does."""


class Early:
    """A handler of SIGINT for a command that cannot be unwound yet."""

    __slots__ = ()


class _State:
    """What is known of SIGINT in this process."""

    __slots__ = ("came", "ours")

    def __init__(self) -> None:
        self.ours = False
        self.came = False


_state: Final = _State()


def expect_ours() -> None:
    """Note that this process is a command of gert, whose handlers say whether there was a signal."""
    _state.ours = True


def is_ours() -> bool:
    """Return whether this process is a command of gert, and ends with it."""
    return _state.ours


def is_early(handler: object) -> bool:
    """Return whether a handler of SIGINT is for a command that cannot be unwound yet."""
    return isinstance(handler, Early)


def raise_interrupt(number: int, frame: object) -> NoReturn:
    """Handle SIGINT as Python does, and remember that it came."""
    del number, frame
    _state.came = True
    raise KeyboardInterrupt


def pass_on(error: BaseException) -> None:
    """Raise an exception out of a plugin's code again if it is an interrupt that the plugin did not make up."""
    if isinstance(error, KeyboardInterrupt) and _is_real(error):
        raise error


def _is_real(error: KeyboardInterrupt) -> bool:
    import threading

    if isinstance(error, EndOfWork):
        return True
    if threading.current_thread() is not threading.main_thread():  # Python handles signals in the main thread alone
        return False
    # A plugin may have put Python's handler back, which does not tell.
    return not _state.ours or _state.came or signal.getsignal(signal.SIGINT) is signal.default_int_handler


__all__ = ["Early", "EndOfWork", "expect_ours", "is_early", "is_ours", "pass_on", "raise_interrupt"]
