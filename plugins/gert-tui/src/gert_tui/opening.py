"""Open the screen over a host of the project, and close that host in the end, also when a signal ends the process."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from gert_core.hosting import Host, Stop
from gert_core.hosting.interrupt import interrupts
from gert_tui.app import GertApp
from gert_tui.driver import told_threads
from gert_tui.look import ASCII, UNICODE
from gert_tui.terminal import giving_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.hosting.interrupt import Interrupt
    from gert_tui.command import TuiOptions


def open_screen(wanted: TuiOptions, *, environ: Mapping[str, str]) -> int:
    """Show the screen until it is left or a signal comes, and return the exit code."""
    for name in ("COLUMNS", "LINES"):  # the terminal itself says how large it is, also when that changes
        os.environ.pop(name, None)
    stop = Stop()
    # Signals are handled until the host is closed: closing it waits for runs to end.
    with closing(stop), interrupts(stop) as interrupt:
        try:
            code = _show(wanted, interrupt, environ=environ)
        except Exception:
            if interrupt.signal is None:  # else the terminal that was closed is why it broke
                raise
    return code if interrupt.signal is None else interrupt.exit_code


def _show(wanted: TuiOptions, interrupt: Interrupt, *, environ: Mapping[str, str]) -> int:
    with Host(environ=environ, actor=wanted.start.get("actor"), **wanted.host) as host:
        if wanted.run is not None:
            host.run(wanted.run)  # what is wrong with it is said before there is a screen
        spelled = (getattr(sys.__stdout__, "encoding", "") or "").lower().replace("-", "")
        app = GertApp(host, wanted, look=UNICODE if spelled == "utf8" and not wanted.ascii else ASCII)
        stop = interrupt.stop
        give_back = giving_back()

        def leave() -> None:
            host.end(stop.reason)
            with suppress(RuntimeError):  # the screen is closed already
                app.leave()

        interrupt.run, interrupt.last = host, give_back
        undo = stop.on_throw(leave)
        try:
            with told_threads(app):
                app.run(mouse=wanted.mouse)
        finally:
            undo()
            if app.unwritten:
                give_back()
            interrupt.last = None  # the terminal is as it was: what is shown from now on is not to be removed
        if app.broken is not None:
            raise app.broken
        return app.return_code or 0


__all__ = ["open_screen"]
