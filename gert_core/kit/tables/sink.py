"""Hold lines back for a moment and write them together: a write to a database costs as much as many lines."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gert_core.api.errors import StoreError
from gert_core.api.store_records import HOLD_BYTES, HOLD_SECONDS
from gert_core.api.stores import Sink

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class HeldSink(Sink):
    """A sink that keeps groups for ``HOLD_SECONDS`` or ``HOLD_BYTES``; ``sync`` and a thread of its own write them.

    ``store(lines, durable)`` writes lines behind those before, in one transaction, and with none makes those before
    durable. The first error is final: each later call raises it, whichever thread met it.
    """

    def __init__(
        self,
        store: Callable[[Sequence[bytes], bool], None],
        *,
        seq: int,
        place: str,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self.place = place
        self._store = store
        self._release = release
        self._state = threading.Lock()
        self._io = threading.Lock()
        self._held: list[bytes] = []
        self._bytes = 0
        self._taken = self._durable = seq
        self._error: OSError | None = None
        self._told = False
        self._closed = False
        self._some = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def write(self, lines: Sequence[bytes], last: int) -> None:
        """Take a group of lines; it is written soon."""
        self._check()
        with self._state:
            first = not self._held
            self._held.extend(lines)
            self._bytes += sum(map(len, lines))
            self._taken = last
            full = self._bytes >= HOLD_BYTES
        if full:
            self._flush(durable=False)
        elif first:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_soon, name="gert-store", daemon=True)
                self._thread.start()
            self._some.set()

    def sync(self) -> None:
        """Write what is held back, and return when every line taken so far survives a power loss."""
        self._check()
        target = self._taken
        if self._durable < target:
            self._flush(durable=True, target=target)

    def close(self) -> None:
        """Write what is held back and release the connection."""
        if self._closed:
            return
        self._closed = True
        self._ending.set()
        self._some.set()
        try:
            if self._error is None:
                self._flush(durable=False)
            elif not self._told:
                self._check()
        finally:
            if self._thread is not None:
                self._thread.join()
            self._release()

    def abandon(self) -> None:
        """Release the connection; what is held back is not written any more."""
        with self._state:
            self._held, self._bytes = [], 0
        self._error = self._error or StoreError(f"{self.place} is not written any more")
        self._told = True
        self.close()

    def _check(self) -> None:
        if self._error is not None:
            self._told = True
            raise self._error

    def _flush(self, *, durable: bool, target: int = 0) -> None:
        with self._io:
            self._check()
            if durable and self._durable >= target:  # another thread has synced our lines meanwhile
                return
            with self._state:
                lines, self._held, self._bytes = self._held, [], 0
                last = self._taken
            if not lines and not durable:
                return
            try:
                self._store(lines, durable)
            except OSError as error:
                self._error = error
                self._check()
            except BaseException as error:
                self._error = StoreError(f"{self.place} cannot be written: {error}")  # these lines are not in it
                raise
            if durable:
                self._durable = last
            if lines and self.on_stored is not None:
                self.on_stored(last)

    def _write_soon(self) -> None:
        """Write what is held back when its time is over; what goes wrong is raised by the next call."""
        while not self._ending.is_set():
            self._some.wait()
            self._some.clear()
            if self._ending.wait(HOLD_SECONDS):
                return
            try:
                self._flush(durable=False)
            except OSError:
                self._told = False
                return


__all__ = ["HeldSink"]
