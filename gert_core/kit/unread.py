"""Write to a stream that may have no reader: what it does not take is dropped, instead of waited for without end.

A write to a pipe that is full, or to a terminal that is stopped, waits for its reader, and signals do not end that. A
server must go on without the words that it says to people, and everything must end when it is told to.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LOOK: Final = 0.1
"""Seconds between two questions whether to wait on."""


def write_while(stream: TextIO, text: str, wait: Callable[[], bool]) -> bool:
    """Write text, and return whether all of it was written.

    While the stream takes nothing ``wait`` is asked every 0.1 seconds; once it says no, the rest is dropped. What was
    written to the stream before must have been flushed.
    """
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError, ValueError):  # a buffer, of a test or of a program that uses gert
        stream.write(text)
        stream.flush()
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    left = memoryview(text.encode(stream.encoding or "utf-8", stream.errors or "strict"))
    while left:
        if poll.poll(0):
            # No more than this can be written to a pipe that takes something without waiting for its reader.
            left = left[os.write(descriptor, left[: select.PIPE_BUF]) :]
        elif not wait():
            return False
        else:
            poll.poll(LOOK * 1000)
    return True


class Unwaited:
    """A stream in place of another, which drops what that does not take at once; all else is that stream's."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Write what can be written now; nothing is raised for a stream whose reader has gone."""
        with self._lock, suppress(OSError, ValueError):
            write_while(self._stream, text, lambda: False)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: what was written is not kept back."""

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has under another name, such as ``encoding`` and ``isatty``."""
        return getattr(self._stream, name)


@contextmanager
def unwaited_stderr() -> Iterator[None]:
    """Have nothing in this process wait for who reads standard error, while the block runs."""
    before = sys.stderr
    if before is None:
        yield
        return
    before.flush()
    sys.stderr = cast("TextIO", Unwaited(before))
    try:
        yield
    finally:
        sys.stderr = before


__all__ = ["LOOK", "Unwaited", "unwaited_stderr", "write_while"]
