"""Call functions again and again while a run is shown, in one thread that ends with it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gert_core.hosting.pulse import Pulse

if TYPE_CHECKING:
    from collections.abc import Callable


class Ticker(Pulse):
    """A pulse of a command: where no thread can be started, nothing is called."""

    def after(self, seconds: float, fn: Callable[[], None]) -> None:
        """Call ``fn`` once, in ``seconds`` from now."""
        with suppress(RuntimeError, MemoryError):
            super().after(seconds, fn)

    def end(self) -> None:
        """Call nothing any more, and wait for the thread: a process without threads ends faster."""
        thread = self._thread
        self.close()
        if thread is not None:
            with suppress(RuntimeError):  # it was never started
                thread.join(1)


__all__ = ["Ticker"]
