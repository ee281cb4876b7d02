"""Handle SIGINT, SIGTERM and SIGHUP during runs: cancel them, and end the process if something does not stop."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING, Final, Protocol

from gert_core.plugin.ctrl_c import is_early, is_ours, raise_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.engine.cancel import Stop

GRACE: Final = 12.0
"""Seconds after cancel: children get 5 to end by themselves before they are killed."""
_LAST: Final = 2.0
"""Seconds for the last words about a run that did not stop."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Abandoned(Protocol):
    """A run, or all runs of a host."""

    def abandon(self) -> None:
        """Write the end although a step has not stopped."""


class Interrupt:
    """Which signal ended the run, and the run to abandon when something does not stop.

    Python runs handlers in the main thread between two instructions. A signal that comes right before that thread
    begins to wait for a tool would be handled when the tool has ended, and a handler that touches the trace deadlocks.
    So the interpreter writes the signal's number into a pipe, and a thread does the rest. Where no thread can be
    started the handler leaves a note to whatever the run asks or waits for next.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.signal: int | None = None
        self.run: Abandoned | None = None
        self.last: Callable[[], None] | None = None
        """What is done at the end of a run that does not stop: nothing waits longer than a moment for it."""
        self._ending = False
        self._read, self._write = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        os.set_blocking(self._write, False)
        self._watcher: threading.Thread | None = threading.Thread(target=self._watch, name="gert-signals", daemon=True)
        try:
            self._watcher.start()
        except (RuntimeError, MemoryError):
            self._watcher = None
        self._wakes = self._write if self._watcher is not None else stop.wakeup()
        self._before = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    @property
    def exit_code(self) -> int:
        """128 plus the signal's number."""
        return 128 + (self.signal or signal.SIGINT)

    def handle(self, number: int, frame: object) -> None:
        """Handle a signal in the main thread, if there is no other one, or a plugin keeps it from that one."""
        del frame
        if self._watcher is not None:
            # asyncio, for one, leaves no pipe behind when it has handled signals itself
            if signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False) != self._wakes:
                os.write(self._write, bytes([number]))
            return
        if self.signal is None:
            self.signal = number
            self.stop.note(signal.Signals(number).name)
        elif number == signal.SIGINT:
            from gert_core.kit.processes import kill_all

            kill_all()
            os._exit(self.exit_code)  # without the last event: writing it needs locks that this thread may hold

    def close(self) -> None:
        """End the thread, if there is one."""
        signal.set_wakeup_fd(self._before)
        if self._watcher is not None:
            os.write(self._write, b"\0")
            self._watcher.join(1)
        os.close(self._read)
        os.close(self._write)

    def outlive(self) -> None:
        """Leave the thread to end the process in time: what a command says at its end may wait for a reader."""
        if self._ending and self._watcher is not None:
            self._watcher.join(2 * _LAST)  # it writes the end of the run and exits with the right code
        self.run = self.last = None

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        until: float | None = None
        while True:
            if not poll.poll(None if until is None else max(0.0, until - time.monotonic()) * 1000):
                self._end()
            number = os.read(self._read, 1)[0]
            if number == 0:
                return
            if number not in SIGNALS:
                continue
            if self.signal is None:
                self.signal, until = number, time.monotonic() + GRACE
                self.stop.throw(signal.Signals(number).name)
            elif number == signal.SIGINT:
                self._end()

    def _end(self) -> None:
        """Kill the children, write the end of the run and exit: it did not stop by itself, or SIGINT came twice."""
        from gert_core.kit.processes import kill_all

        self._ending = True
        kill_all()
        run = self.run
        if run is not None:
            with contextlib.suppress(Exception):
                run.abandon()
        if self.last is not None:
            with contextlib.suppress(RuntimeError, MemoryError):
                thread = threading.Thread(target=self.last, name="gert-last", daemon=True)
                thread.start()
                thread.join(_LAST)  # the terminal may be stopped
        os._exit(self.exit_code)


@contextlib.contextmanager
def interrupts(stop: Stop) -> Iterator[Interrupt]:
    """Handle the signals while the block runs; SIGHUP stays ignored where it is (``nohup``)."""
    state = Interrupt(stop)
    before = {
        number: signal.signal(number, state.handle)
        for number in SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    if is_early(before[signal.SIGINT]):
        before[signal.SIGINT] = raise_interrupt
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # inherited; exit codes would be lost
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield state
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        if state.signal is not None and is_ours():
            state.outlive()
        else:
            state.close()


__all__ = ["GRACE", "Abandoned", "Interrupt", "interrupts"]
