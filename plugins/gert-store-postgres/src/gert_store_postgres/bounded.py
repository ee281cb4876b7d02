"""A connection that gives a silent server up: the time that the server allows a statement is measured here as well.

The server ends a statement that takes too long, but SQL in the database can lift its limit, and a server that hangs
keeps to none.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")
LONGEST: Final = "-c statement_timeout=60s"
"""What the options of an address may say otherwise: nothing among the tables holds a command up for ever."""
_GRACE: Final = 5.0
"""The seconds in which the server says itself that a statement took too long."""
_TIMEOUT: Final = re.compile(r"statement[_-]timeout=(\d+(?:\.\d+)?)(?:\\\s)*(us|ms|s|min|h|d)?(?=\s|\Z)")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class SilentError(psycopg.OperationalError):
    """The server did not answer in time; the connection is closed."""


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when a statement is not answered in ``longest`` seconds; None is for ever."""

    longest: float | None = 60.0 + _GRACE

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        """Wait for the server, no longer than it may take."""
        if self.longest is None:
            return super().wait(gen, *args, **options)
        try:
            return super().wait(_within(gen, self.longest), *args, **options)
        except SilentError:
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_GRACE)  # or the server would go on with it, and hold its locks
            self.close()
            raise


def longest_of(options: str) -> float | None:
    """Return for how many seconds a statement is waited for by the options of a connection; None is for ever."""
    found = _TIMEOUT.findall(options)
    if not found:
        return None
    number, unit = found[-1]
    seconds = float(number) * _SECONDS[unit or "ms"]
    return seconds + _GRACE if seconds else None


def _within(gen: Generator[Any, Any, T], longest: float) -> Generator[Any, Any, T]:
    """Go through the steps of a statement; raise ``SilentError`` at the first one behind its time."""
    end = time.monotonic() + longest
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if time.monotonic() > end:
                raise SilentError(f"the server has not answered for {longest:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as done:
        value: T = done.value
        return value


__all__ = ["LONGEST", "BoundedConnection", "SilentError", "longest_of"]
