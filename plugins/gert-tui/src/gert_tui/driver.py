"""What Textual reads from the terminal and writes to it: bytes that are not UTF-8 and faults do not end the process."""

from __future__ import annotations

import errno
import os
import selectors
import threading
from codecs import getincrementaldecoder
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, cast

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver

from gert_tui.terminal import hang_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_tui.app import GertApp

_LOOK: Final = 0.1
"""Seconds between two looks whether the screen is left; a lone Escape is one after so long."""
_READ: Final = 4096


class TerminalDriver(LinuxDriver):
    """Textual's driver, whose own thread for keys ends with the first byte that is not UTF-8."""

    def run_input_thread(self) -> None:
        """Hand on keys, pasted text and the mouse until the screen is left; the app is told what breaks."""
        try:
            self._hand_on()
        except Exception as error:  # a thread that dies would draw a traceback over the screen
            _broke(cast("GertApp", self._app), error)

    def _hand_on(self) -> None:
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        try:
            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    data = os.read(self.fileno, _READ) if selector.select(_LOOK) else b""
                    for event in parser.feed(text) if (text := decode(data)) else ():
                        self.process_message(event)
                    for event in parser.tick():
                        self.process_message(event)
        finally:
            with suppress(EOFError, ParseError):
                list(parser.feed(""))


def _broke(app: GertApp, error: BaseException) -> None:
    if isinstance(error, OSError) and error.errno == errno.EIO:  # the terminal is gone
        hang_up()
    else:
        app.call_later(app.broke, error)


@contextmanager
def told_threads(app: GertApp) -> Iterator[None]:
    """Have the app say that a thread died, while the block runs: Python would write a traceback over the screen."""

    def told(died: threading.ExceptHookArgs) -> None:
        error = died.exc_value or RuntimeError(f"thread {died.thread} died")
        if not isinstance(died.thread, WriterThread):
            app.call_later(app.say_fault, error)
            return
        app.unwritten = True
        _broke(app, error)
        while died.thread._queue.get() is not None:  # the screen would wait until there is room for more
            pass

    before, threading.excepthook = threading.excepthook, told
    try:
        yield
    finally:
        threading.excepthook = before


__all__ = ["TerminalDriver", "told_threads"]
