"""Handle Ctrl-C from the first import of a command until it can be unwound: say so and end the process at once.

Nothing has begun by then. A ``KeyboardInterrupt`` inside an import is a traceback at best; at worst a callback of a
library swallows it, and a run begins that a person has cancelled.
"""

from __future__ import annotations

import os

from gert_core.plugin.ctrl_c import Early, expect_ours, is_early, raise_interrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # built in; importing ``signal`` or ``typing`` takes long enough to be interrupted

INTERRUPTED = 130
# Written by hand: a handler must not import what is being imported.
_DOCUMENT = (
    b'{"error": {"kind": "cancelled", "message": "interrupted", "file": null, "line": null, "hint": null,'
    b' "diagnostics": []}}\n'
)


class _Leave(Early):
    """A handler of SIGINT that prints and ends the process."""

    def __init__(self, *, as_json: bool) -> None:
        self._said = (1, _DOCUMENT) if as_json else (2, b"interrupted\n")
        self._begun = False

    def __call__(self, number: int, frame: object) -> None:
        if self._begun:  # the pipe that it is written to has no reader
            os._exit(INTERRUPTED)
        self._begun = True
        try:
            os.write(*self._said)
        finally:
            os._exit(INTERRUPTED)


def leave_on_interrupt(*, as_json: bool) -> None:
    """End the process on Ctrl-C from now on, unless the program that started it had SIGINT ignored."""
    expect_ours()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Leave(as_json=as_json))


def raise_on_interrupt() -> None:
    """Raise ``KeyboardInterrupt`` on Ctrl-C from now on: the command cleans up after itself."""
    if is_early(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, raise_interrupt)


__all__ = ["INTERRUPTED", "leave_on_interrupt", "raise_on_interrupt"]
