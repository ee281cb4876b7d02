"""Handle SIGINT and SIGTERM during a run: a thread cancels it, and ends the process if something hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Final

from gert_core.cli.early import is_early

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.engine.cancel import Stop
    from gert_core.engine.run import Run

GRACE: Final = 12.0
"""Seconds after cancel: children get 5 to end by themselves before they are killed."""


class Interrupt:
    """Which signal ended the run, and the run to abandon when something does not stop."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.signal: int | None = None
        self.run: Run | None = None
        self.done = threading.Event()

    @property
    def exit_code(self) -> int:
        """128 plus the signal's number."""
        return 128 + (self.signal or signal.SIGINT)

    def _watch(self, descriptor: int) -> None:
        while True:
            data = os.read(descriptor, 1)
            if not data or data[0] == 0:
                return
            if self.signal is not None:
                if data[0] == signal.SIGINT:
                    self._end()
                continue
            self.signal = data[0]
            threading.Thread(target=self._deadline, name="gert-grace", daemon=True).start()
            self.stop.throw(signal.Signals(data[0]).name)

    def _deadline(self) -> None:
        if not self.done.wait(GRACE):
            self._end()

    def _end(self) -> None:
        """Kill the children, write the end of the run and exit: it did not stop by itself, or SIGINT came twice."""
        from gert_core.kit.processes import kill_all

        kill_all()
        run = self.run
        if run is not None:
            with contextlib.suppress(Exception):
                run.abandon()
        os._exit(self.exit_code)


@contextlib.contextmanager
def interrupts(stop: Stop) -> Iterator[Interrupt]:
    """Handle both signals while the block runs."""
    read, write = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    os.set_blocking(write, False)
    state = Interrupt(stop)

    def handler(number: int, frame: object) -> None:
        del frame
        with contextlib.suppress(BlockingIOError):
            os.write(write, bytes([number]))

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    if is_early(before[signal.SIGINT]):
        before[signal.SIGINT] = signal.default_int_handler
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # inherited; exit codes would be lost
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    watcher = threading.Thread(target=state._watch, args=(read,), name="gert-signals", daemon=True)
    watcher.start()
    try:
        yield state
    finally:
        state.done.set()
        for number, old in before.items():
            signal.signal(number, old)
        os.write(write, b"\0")
        watcher.join(1)
        time.sleep(0)
        os.close(read)
        os.close(write)


__all__ = ["Interrupt", "interrupts"]
