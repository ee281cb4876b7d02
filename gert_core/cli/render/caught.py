"""Catch what anything else writes to the terminal while a block is drawn on it, and print it above the block.

Logs, warnings, plugins that print and programs that they start without reading them write to the descriptors 1 and 2.
What is written there while the cursor is at the end of the block would be overwritten by the next one.
"""

from __future__ import annotations

import codecs
import os
import select
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.cli.render.output import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SILENCE: Final = 0.5
"""Seconds after which a line without an end is printed: it may be a question."""
_LONGEST: Final = 64 * 1024
"""How many characters a line may have."""
_LAST: Final = 1.0
"""Seconds in which what was written before the end is printed."""


class Caught:
    """Descriptors that lead into a pipe, and a thread that prints what comes out of it, line by line."""

    def __init__(self, descriptors: Iterable[int], printed: Callable[[str], None], mask: Callable[[str], str]) -> None:
        self._printed = printed
        self._mask = mask
        self._open = ""
        self._over = False
        self._flush()
        self._before = {number: os.dup(number) for number in descriptors}
        self._pipe, into = os.pipe()
        self._writing = os.fstat(into)
        for number in self._before:
            os.dup2(into, number)
        os.close(into)
        self._thread = threading.Thread(target=self._serve, name="gert-caught", daemon=True)
        try:
            self._thread.start()
        except (RuntimeError, MemoryError):
            self._restore()
            raise

    def end(self) -> None:
        """Let the descriptors lead where they did, and print the rest."""
        self._flush()
        self._restore()
        self._over = True
        self._thread.join(_LAST)

    def _restore(self) -> None:
        for number, before in self._before.items():
            with suppress(OSError):
                if os.path.samestat(os.fstat(number), self._writing):  # else somebody else has replaced it since
                    os.dup2(before, number)
            os.close(before)

    @staticmethod
    def _flush() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()

    def _serve(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        while True:
            if not poll.poll(0 if self._over else _SILENCE * 1000):
                self._print_rest()
                if self._over:  # a program that is still there may have the pipe open
                    return
                continue
            data = os.read(self._pipe, 65536)
            self._take(decoder.decode(data, final=not data))
            if not data:
                self._print_rest()
                return

    def _take(self, text: str) -> None:
        *lines, rest = (self._open + text).split("\n")
        while len(rest) > _LONGEST:
            lines.append(rest[:_LONGEST])
            rest = rest[_LONGEST:]
        self._open = rest
        if lines:
            self._printed("".join(f"{self._line(line)}\n" for line in lines))

    def _print_rest(self) -> None:
        rest, self._open = self._open, ""
        if rest.strip():
            self._printed(f"{self._line(rest)}\n")

    def _line(self, text: str) -> str:
        """Return a line as it would be seen: a carriage return begins it anew."""
        return visible(self._mask(text.rstrip("\r").rpartition("\r")[2]))


__all__ = ["Caught"]
