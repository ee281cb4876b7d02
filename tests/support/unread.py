"""A pipe that takes nothing more, for programs that must end although nobody reads what they write."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def full_pipe() -> Iterator[int]:
    """Yield the end of a full pipe that a program writes to; nobody reads it."""
    unread, full = os.pipe()
    os.set_blocking(full, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(full, b"x" * size)
    os.set_blocking(full, True)
    try:
        yield full
    finally:
        os.close(unread)
        os.close(full)
