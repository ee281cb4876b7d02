"""Ask the person at the terminal: prompts on stderr, lines from standard input, one dialogue at a time."""

from __future__ import annotations

import os
import select
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.cli.render.terminal import escape_output, write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from gert_core.api import Deadline, Question

_LONGEST_WAIT: Final = 3600.0
_HANGUP: Final = 0.5
"""Seconds that the signal of a terminal that was closed may come after the end of its input."""


class TerminalConsole:
    """Reads standard input line by line without losing what a pipe already delivered.

    ``quiet`` is called around a dialogue so that a live progress line does not run through it; ``stream`` is where it
    is shown, standard error by default.
    """

    def __init__(
        self, *, no_input: bool = False, quiet: Callable[[bool], None] | None = None, stream: TextIO | None = None
    ) -> None:
        self._no_input = no_input
        self._stream = stream
        self._quiet = quiet
        self._lock = threading.RLock()
        self._buffer = b""
        self._ended = False

    @property
    def interactive(self) -> bool:
        """Whether prompts are allowed and standard input is open."""
        return not self._no_input and sys.stdin is not None and not self._ended

    @property
    def terminal(self) -> bool:
        """Whether standard input is a terminal."""
        return _terminal()

    def say(self, text: str) -> None:
        """Show a line."""
        self.show(f"{text}\n")

    def exclusive(self) -> Any:
        """Hold the terminal for one dialogue; the same thread may ask inside."""
        return _Dialogue(self._lock, self._quiet)

    def ask(
        self,
        prompt: str,
        *,
        deadline: Deadline,
        hidden: bool = False,
        fresh: bool = False,
        question: Question | None = None,
    ) -> str | None:
        """Return one line, or None at the end of input, on expiry or cancel; ``fresh``: typed after the question."""
        with self.exclusive():
            if not self.interactive or deadline.stopped:
                return None
            terminal = _terminal()
            if fresh and terminal:
                self._forget()
            self.show(prompt)
            with _echo_off(hidden and terminal):
                line = self._line(deadline)
            if self._ended and terminal:
                deadline.wait(_HANGUP)
            if line is None or hidden or not terminal:
                self.show("\n")
            return line

    def show(self, text: str) -> None:
        """Write to standard error; where that is impossible an answer may come all the same."""
        with suppress(OSError):
            stream = self._stream or sys.stderr
            write_text(stream, escape_output(text, colour=False))
            stream.flush()

    def _forget(self) -> None:
        """Throw away what was typed, or pushed into the terminal's input, and not read yet."""
        import termios

        self._buffer = b""
        with suppress(termios.error):  # the terminal was closed
            termios.tcflush(0, termios.TCIFLUSH)

    def _line(self, deadline: Deadline) -> str | None:
        poll = select.poll()  # select() refuses descriptors above 1,023
        poll.register(0, select.POLLIN)
        poll.register(deadline.fileno(), select.POLLIN)
        while b"\n" not in self._buffer and not self._ended:
            left = deadline.remaining()
            ready = poll.poll(None if left is None else min(left, _LONGEST_WAIT) * 1000)
            if deadline.stopped:
                return None
            if all(fd != 0 for fd, _ in ready):
                continue
            try:
                chunk = os.read(0, 65536)
            except OSError:  # the terminal was closed
                chunk = b""
            if not chunk:
                self._ended = True
            self._buffer += chunk
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")


class _Dialogue:
    """The lock of one dialogue, with the progress line held back during it."""

    def __init__(self, lock: threading.RLock, quiet: Callable[[bool], None] | None) -> None:
        self._lock: Any = lock
        self._quiet = quiet

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._quiet is not None:
            self._quiet(True)

    def __exit__(self, *_: object) -> None:
        if self._quiet is not None:
            self._quiet(False)
        self._lock.release()


class _echo_off:  # noqa: N801 - reads as a statement
    """Turns off the echo of a terminal while a secret is typed."""

    def __init__(self, active: bool) -> None:
        self._active = active
        self._before: Any = None

    def __enter__(self) -> None:
        if self._active:
            import termios

            self._before = termios.tcgetattr(0)
            silent = list(self._before)
            silent[3] &= ~termios.ECHO
            termios.tcsetattr(0, termios.TCSADRAIN, silent)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import termios

            with suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(0, termios.TCSADRAIN, self._before)


def _terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


__all__ = ["TerminalConsole"]
